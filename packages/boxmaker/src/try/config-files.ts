/** The configurations that `try` writes for its roles. */
import type { Layout } from "../home/layout.ts";
import { tomlString } from "../home/toml-text.ts";
import type { RuntimeChoice } from "./runtime-choice.ts";

const HEADER = "# Written by `boxmaker try`, anew at each start: change a copy of it, and start the role with that.\n";

/** brokerd.toml for a home and a runtime. */
export function brokerdToml(layout: Layout, runtime: RuntimeChoice): string {
  return `${HEADER}home = ${tomlString(layout.home)}

[sockets]
broker = ${tomlString(layout.sockets.broker)}
admin = ${tomlString(layout.sockets.admin)}

[runner]
${runtime.toml}`;
}

/** loopd.toml for a home and a model. */
export function loopdToml(layout: Layout, model: string): string {
  return `${HEADER}home = ${tomlString(layout.home)}
model = ${tomlString(model)}
notes_folder = ${tomlString(layout.notes)}

[sockets]
loop = ${tomlString(layout.sockets.loop)}
infer = ${tomlString(layout.sockets.infer)}
broker = ${tomlString(layout.sockets.broker)}
`;
}
