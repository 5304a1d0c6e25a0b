/** What lint finds odd about a grant. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lint } from "../../src/analysis/index.ts";
import { grantText, NOW, setOf } from "./support.ts";

const WEEK_MS = 7 * 24 * 3600 * 1000;

function odditiesOf(
  texts: Readonly<Record<string, string>>,
  spent: Readonly<Record<string, number>> = {},
): Record<string, unknown> {
  const findings = lint(setOf(texts), NOW, { expiringWithinMs: WEEK_MS, usesSpent: (id) => spent[id] ?? 0 });
  return Object.fromEntries(findings.map(({ grant, oddity, line }) => [`${grant} ${oddity.kind}`, { ...oddity, line }]));
}

describe("lint()", () => {
  test("finds nothing odd about grants that each do something of their own", () => {
    const texts = { notes: grantText("read_file", "auto", ["/srv/notes"]), web: grantText("http_fetch", "ask", ["*.example.com"]) };
    assert.deepEqual(odditiesOf(texts), {});
  });

  test("finds a grant that denies take every call from, and not one that keeps some", () => {
    const texts = {
      keys: grantText("read_file", "deny", ["/srv/keys"]),
      lost: grantText("read_file", "auto", ["/srv/keys/old"]),
      kept: grantText("read_file", "auto", ["/srv"]),
    };
    assert.deepEqual(Object.keys(odditiesOf(texts)), ["lost shadowed", "lost overlaps", "kept overlaps"]);
    assert.deepEqual(odditiesOf(texts)["lost shadowed"], { kind: "shadowed", by: ["keys"], line: 1 });
  });

  test("finds no shadow where the deny is for another origin only", () => {
    const texts = {
      keys: grantText("read_file", "deny", ["/srv/keys"], 'origins = ["gateway"]'),
      mine: grantText("read_file", "auto", ["/srv/keys"]),
    };
    assert.deepEqual(odditiesOf(texts), {});
  });

  test("finds an auto grant that asks everywhere because of another", () => {
    const texts = {
      any: grantText("http_fetch", "ask", ["*.example.com"]),
      one: grantText("http_fetch", "auto", ["a.example.com"]),
    };
    assert.deepEqual(odditiesOf(texts), { "one always_asks": { kind: "always_asks", by: ["any"], line: 1 } });
  });

  test("finds a grant whose predicates exclude each other", () => {
    const texts = {
      never: `${grantText("write_file", "auto", ["/srv/out"])}[constraints.args]\npath = { prefix = "/srv/out/a", in = ["/srv/out/a/b"], maxlen = 5 }\n`,
    };
    const findings = (): unknown => odditiesOf(texts);
    // Most such files are refused when they are loaded.
    assert.throws(findings, /in never holds/u);
  });

  test("finds what has expired, expires within the time, or is used up, at the line that says so", () => {
    const texts = {
      old: grantText("read_file", "auto", ["/srv/a"], "expires = 2026-11-01T00:00:00Z"),
      soon: grantText("read_file", "auto", ["/srv/b"], "expires = 2026-11-08T00:00:00Z"),
      later: grantText("read_file", "auto", ["/srv/c"], "expires = 2026-11-08T00:00:00.001Z"),
      twice: grantText("read_file", "auto", ["/srv/d"], "uses = 2"),
      thrice: grantText("read_file", "auto", ["/srv/e"], "uses = 3"),
    };
    assert.deepEqual(odditiesOf(texts, { twice: 2, thrice: 2 }), {
      "old expired": { kind: "expired", expires: "2026-11-01T00:00:00.000Z", line: 4 },
      "soon expiring": { kind: "expiring", expires: "2026-11-08T00:00:00.000Z", line: 4 },
      "twice spent": { kind: "spent", uses: 2, line: 4 },
    });
  });

  test("finds grants of one mode that speak about the same calls", () => {
    const texts = { all: grantText("read_file", "auto", ["/srv"]), some: grantText("read_file", "auto", ["/srv/a"]) };
    assert.deepEqual(odditiesOf(texts), {
      "all overlaps": { kind: "overlaps", with: ["some"], line: 1 },
      "some overlaps": { kind: "overlaps", with: ["all"], line: 1 },
    });
  });
});
