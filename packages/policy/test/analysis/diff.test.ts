/** Sets of grants compared by effect. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { diffSets } from "../../src/analysis/index.ts";
import { grantText, NOW, setOf } from "./support.ts";

type Texts = Readonly<Record<string, string>>;

function compare(before: Texts, after: Texts): ReturnType<typeof diffSets> {
  return diffSets(setOf(before), setOf(after), NOW);
}

/** `TARGET: +what it widens -what it narrows`. */
function changesOf(before: Texts, after: Texts): readonly string[] {
  return compare(before, after).changes.map(({ tool, target, widened, narrowed }) =>
    [`${tool} ${target}`, ...widened.map((aspect) => `+${aspect}`), ...narrowed.map((aspect) => `-${aspect}`)].join(" "),
  );
}

const WEB = { web: grantText("http_fetch", "auto", ["example.com"]) };

describe("diffSets()", () => {
  test("finds no difference where only names, order and spelling differ", () => {
    const again = {
      other: `# the same\n${grantText("http_fetch", "auto", ["example.com"], 'max_taint = "public"', 'label = "public"')}`,
    };
    const { wider, narrower, changes, compared, unchanged } = compare(WEB, again);
    assert.deepEqual([wider, narrower, changes, compared === unchanged], [false, false, [], true]);
  });

  test("says what a new grant lets run, and in which states", () => {
    const { wider, narrower, changes } = compare({}, WEB);
    assert.deepEqual([wider, narrower, changes.length], [true, false, 1]);
    assert.deepEqual(
      changes[0]?.states.map(
        ({ state, before, after }) => `${state.taint}${state.untrusted ? " untrusted" : ""}: ${before} to ${after}`,
      ),
      ["public: deny to auto", "public untrusted: deny to ask"],
    );
  });

  test("is the other way round where the sets are swapped", () => {
    const { wider, narrower } = compare(WEB, {});
    assert.deepEqual([wider, narrower], [false, true]);
  });

  test("finds every field that makes a grant wider, and the same narrower when it's taken back", () => {
    const plain = (...keys: readonly string[]): Texts => ({ web: grantText("http_fetch", "auto", ["example.com"], ...keys) });
    const cases: readonly (readonly [Texts, Texts, string])[] = [
      [plain(), plain('max_taint = "secret"'), "outcome"],
      [plain(), plain('if_untrusted = "auto"'), "outcome"],
      [plain('origins = ["terminal"]'), plain(), "outcome"],
      [plain('session = "chat-1"'), plain(), "outcome"],
      [plain("uses = 2"), plain("uses = 3"), "outcome"],
      [plain("uses = 2"), plain(), "outcome"],
      [plain("expires = 2026-12-01T00:00:00Z"), plain("expires = 2026-12-02T00:00:00Z"), "outcome"],
      [plain("expires = 2026-12-01T00:00:00Z"), plain(), "outcome"],
      [plain('label = "private"'), plain(), "label"],
      [plain(), plain("untrusted = false"), "label"],
      [plain(), { web: grantText("http_fetch", "auto", ["example.com", "other.example"]) }, "outcome"],
      [
        { web: grantText("http_fetch", "ask", ["example.com"]) },
        { web: grantText("http_fetch", "ask", ["example.com"], 'approvers = ["bxctl", "gateway"]') },
        "approvers",
      ],
      [
        { sh: grantText("shell", "auto", ["/srv/a"]) },
        { sh: grantText("shell", "auto", ["/srv/a"], "host_exec = true") },
        "host_exec",
      ],
      [{ sh: grantText("shell", "auto", ["/srv/a"]) }, { sh: grantText("shell", "auto", ["/srv/a", "/srv/b"]) }, "mounts"],
      [
        { sh: grantText("shell", "auto", ["/srv/a"]), no: grantText("read_file", "deny", ["/srv/a/x"]) },
        { sh: grantText("shell", "auto", ["/srv/a"]) },
        "masks",
      ],
    ];
    for (const [before, after, aspect] of cases) {
      const context = JSON.stringify({ before, after, aspect });
      assert.ok(
        changesOf(before, after).some((line) => line.includes(`+${aspect}`)),
        context,
      );
      assert.ok(
        changesOf(after, before).some((line) => line.includes(`-${aspect}`)),
        context,
      );
      assert.equal(compare(before, after).wider, true, context);
    }
  });

  test("names the credentials below a place only where something else changes there, and counts them all the same", () => {
    const shell = (mode: string): Texts => ({ build: grantText("shell", mode, ["/srv/w"]) });
    const { changes, compared, unchanged } = compare(shell("ask"), shell("auto"));
    const targets = changes.map(({ target }) => target);
    assert.ok(targets.includes("/srv/w/…"), targets.join());
    assert.ok(!targets.includes("/srv/w/… (credentials)"), targets.join());
    assert.equal(compared - unchanged, targets.length + 1);
  });

  test("finds what only one predicate or a deeper place changes", () => {
    const before = { notes: grantText("write_file", "auto", ["/srv/notes"]) };
    const short = { notes: `${grantText("write_file", "auto", ["/srv/notes"])}[constraints.args]\ncontent = { maxlen = 10 }\n` };
    assert.deepEqual(
      changesOf(before, short).map((line) => line.split(",")[0]),
      ["write_file /srv/notes/…"],
    );
    const kept = { ...before, no: grantText("write_file", "deny", ["/srv/notes/kept"]) };
    assert.deepEqual(changesOf(before, kept), [
      "write_file /srv/notes/… -masks",
      "write_file /srv/notes/kept -outcome",
      "write_file /srv/notes/kept/… -outcome",
    ]);
  });
});
