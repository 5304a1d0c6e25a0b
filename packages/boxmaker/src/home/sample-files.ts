/** What a new home is filled with, so that there is something to talk about and every kind of grant to see. */
import type { Layout } from "./layout.ts";
import { tomlString } from "./toml-text.ts";

/** A file to write, its path relative to the home. */
export interface SampleFile {
  readonly path: string;
  readonly text: string;
}

const TODO = `# To do

- [ ] water the tomatoes
- [ ] send the invoice to the bakery
- [x] change the bicycle's inner tube
`;

const RECIPE = `# Bread

500 g flour, 350 g water, 10 g salt, 3 g yeast. Twelve hours in the fridge, 45 minutes at 230 degrees.
`;

const DIARY = `Nobody but me reads this: one of the sample grants denies it, and it is hidden from every box.
`;

const SYSTEM = `You are the assistant of one person, the owner of this box. You work with tools. Each call is checked against rules that only the
owner writes; some calls wait for the owner's approval, and some are denied. When a call is denied, say so and go on without it.
`;

const TOOLS = `# What a call gets that no grant permits: it is denied, unless its tool is named here. Yours to approve, each time:
#
# [read_file]
# otherwise = "ask"
`;

const LABELS = `# Trees that you know to be secret, or to hold what strangers wrote: whoever reads there has read that.
#
# [[trees]]
# path = "/home/me/tax"
# label = "secret"
#
# [[trees]]
# path = "/home/me/Downloads"
# untrusted = true
`;

/** Notes, four grants (auto, ask, ask, deny), what can be said of tools and trees, and the system prompt. */
export function sampleFiles(layout: Layout): readonly SampleFile[] {
  const notes = tomlString(layout.notes);
  return [
    { path: "notes/todo.md", text: TODO },
    { path: "notes/bread.md", text: RECIPE },
    { path: "notes/diary/monday.md", text: DIARY },
    { path: "memory/README", text: "What stands in core.md here is put before every new conversation.\n" },
    { path: "etc/system.md", text: SYSTEM },
    { path: "etc/tools.toml", text: TOOLS },
    { path: "etc/labels.toml", text: LABELS },
    {
      path: "etc/grants/read-notes.toml",
      text: `# The model may read your notes without asking.
id = "read-notes"
tool = "read_file"
mode = "auto"

[constraints]
paths = [${notes}]

[[examples]]
call = { path = ${tomlString(`${layout.notes}/todo.md`)} }
match = true
`,
    },
    {
      path: "etc/grants/write-notes.toml",
      text: `# The model may write a note after you have seen the whole of it and approved.
id = "write-notes"
tool = "write_file"
mode = "ask"

[constraints]
paths = [${notes}]
`,
    },
    {
      path: "etc/grants/shell-in-notes.toml",
      text: `# Commands run in a box that sees only your notes, each after you approved it.
id = "shell-in-notes"
tool = "shell"
mode = "ask"

[constraints]
paths = [${notes}]
`,
    },
    {
      path: "etc/grants/no-diary.toml",
      text: `# The diary stays yours: never read, and hidden from every box that sees the notes.
id = "no-diary"
tool = "read_file"
mode = "deny"

[constraints]
paths = [${tomlString(`${layout.notes}/diary`)}]
`,
    },
  ];
}
