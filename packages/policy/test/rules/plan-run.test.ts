/** What the box of a call holds: mounts, masks, hosts, and the paths that it may write. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CallRequest } from "../../src/rules/decide.ts";
import { hiddenPaths } from "../../src/rules/plan-run.ts";
import { ask, EARLIER, fetchOf, type GrantFields, grant, path, planOf, read, type StateFields, shell, write } from "./support.ts";

function mountsOf(call: CallRequest, grants: readonly GrantFields[], fields: StateFields = {}): readonly string[] {
  const plan = planOf(
    ask(
      call,
      grants.map((each) => grant(each)),
      fields,
    ),
  );
  return plan.mounts.map((mount) => `${mount.path} ${mount.writable ? "rw" : "ro"}`);
}

function maskedOf(call: CallRequest, grants: readonly GrantFields[]): readonly string[] {
  return hiddenPaths(
    planOf(
      ask(
        call,
        grants.map((each) => grant(each)),
      ),
    ),
  );
}

/** Masks but for the credential places that every mount gets. */
function deniedOf(call: CallRequest, grants: readonly GrantFields[]): readonly string[] {
  return maskedOf(call, grants).filter((masked) => !/\/\.(?!\.)/u.test(masked));
}

describe("the plan mounts", () => {
  test("for read_file the matched path, read-only", () => {
    assert.deepEqual(mountsOf(read("/srv/notes/a"), [{ paths: ["/srv/other", "/srv/notes"] }]), ["/srv/notes ro"]);
  });

  test("for read_file of a path that is itself granted, that file", () => {
    assert.deepEqual(mountsOf(read("/srv/notes/a"), [{ paths: ["/srv/notes/a"] }]), ["/srv/notes/a ro"]);
  });

  test("for write_file the matched path, writable", () => {
    assert.deepEqual(mountsOf(write("/srv/notes/a/b"), [{ tool: "write_file" }]), ["/srv/notes rw"]);
  });

  test("for shell every path of the grant, writable, in its order", () => {
    assert.deepEqual(mountsOf(shell("/srv/a"), [{ tool: "shell", paths: ["/srv/z", "/srv/a"] }]), ["/srv/z rw", "/srv/a rw"]);
    assert.deepEqual(mountsOf(shell(), [{ tool: "shell", paths: ["/srv/z", "/srv/a"] }]), ["/srv/z rw", "/srv/a rw"]);
  });

  test("for http_fetch nothing, and reaches the grant's hosts", () => {
    const plan = planOf(ask(fetchOf("https://example.com/"), [grant({ tool: "http_fetch", hosts: ["*.org", "example.com"] })]));
    assert.deepEqual(plan.mounts, []);
    assert.deepEqual(plan.masked, []);
    assert.deepEqual(plan.hosts, ["*.org", "example.com"]);
  });

  test("no hosts for other tools", () => {
    assert.deepEqual(planOf(ask(shell(), [grant({ tool: "shell" })])).hosts, []);
  });
});

describe("the plan of a call that is named for a grant which permits nothing now", () => {
  const expiredAsk = { id: "wide", mode: "ask", expires: EARLIER } as const;

  test("mounts of a shell grant's paths only those that another grant permits", () => {
    const grants = [
      { ...expiredAsk, tool: "shell", paths: ["/srv/a", "/srv/b"] },
      { id: "now", tool: "shell", paths: ["/srv/a"] },
    ];
    assert.deepEqual(mountsOf(shell("/srv/a"), grants), ["/srv/a rw"]);
  });

  test("mounts only what lies in both, where the permitted path is the deeper one", () => {
    const grants = [
      { ...expiredAsk, paths: ["/srv"] },
      { id: "now", paths: ["/srv/notes"] },
    ];
    assert.deepEqual(mountsOf(read("/srv/notes/a"), grants), ["/srv/notes ro"]);
  });

  test("mounts its own part where the permitted path is the wider one", () => {
    const grants = [
      { ...expiredAsk, paths: ["/srv/notes"] },
      { id: "now", paths: ["/srv"] },
    ];
    assert.deepEqual(mountsOf(read("/srv/notes/a"), grants), ["/srv/notes ro"]);
  });

  test("mounts of what holds a credential place the deepest that is permitted", () => {
    const old = { ...expiredAsk, id: "a", label: "secret", paths: ["/home/me/.ssh"] };
    // Of those that match, what asks comes before what doesn't, and the deeper before the wider one.
    for (const mode of ["auto", "ask"] as const) {
      const permitted = [
        { id: "wide", label: "secret", paths: ["/home"], mode },
        { id: "deep", label: "secret", paths: ["/home/me"] },
      ];
      assert.deepEqual(mountsOf(read("/home/me/.ssh/id"), [old, ...permitted]), ["/home/me ro"]);
    }
  });

  test("opens its part of a credential place where another grant permits the place, and not where one permits a file in it", () => {
    const home = { id: "home", label: "secret", paths: ["/home/me"] };
    const old = { ...expiredAsk, id: "a", label: "secret", paths: ["/home/me/.ssh/keys"] };
    const place = { id: "now", label: "secret", paths: ["/home/me/.ssh"] };
    assert.deepEqual(mountsOf(read("/home/me/.ssh/keys/id"), [old, home, place]), ["/home/me/.ssh/keys ro"]);
    const wide = { ...old, paths: ["/home/me/.ssh"] };
    const file = { ...place, paths: ["/home/me/.ssh/id"] };
    assert.deepEqual(mountsOf(read("/home/me/.ssh/id"), [wide, home, file]), ["/home/me ro"]);
  });

  test("mounts what is permitted where a command without cwd is named for a grant of other paths", () => {
    const grants = [
      { ...expiredAsk, tool: "shell", paths: ["/srv/a"] },
      { id: "now", tool: "shell", paths: ["/srv/b"] },
    ];
    assert.deepEqual(mountsOf(shell(), grants), ["/srv/b rw"]);
  });

  test("reaches only hosts that both stand for", () => {
    const old = { ...expiredAsk, tool: "http_fetch", hosts: ["*.example.com", "b.org"] };
    const hosts = (allowed: readonly string[]): readonly string[] =>
      planOf(ask(fetchOf("https://a.example.com/"), [grant(old), grant({ id: "now", tool: "http_fetch", hosts: allowed })])).hosts;
    assert.deepEqual(hosts(["a.example.com"]), ["a.example.com"]);
    assert.deepEqual(hosts(["*.example.com"]), ["*.example.com"]);
  });

  test("opens no credential place that only a grant names which has expired, is spent or is above its max_taint", () => {
    const home = { id: "home", paths: ["/home/me"], label: "secret" };
    const key = { id: "key", paths: ["/home/me/.ssh"], label: "secret" };
    const lapsed: readonly (readonly [GrantFields, StateFields])[] = [
      [{ expires: EARLIER }, {}],
      [{ uses: 1 }, { spent: { key: 1 } }],
      [{ max_taint: "public" }, { taint: "private" }],
      [{ mode: "ask", expires: EARLIER }, {}],
    ];
    for (const [fields, now] of lapsed) {
      const grants = [home, { ...key, ...fields }];
      assert.deepEqual(mountsOf(read("/home/me/.ssh/id"), grants, now), ["/home/me ro"]);
      const plan = planOf(
        ask(
          read("/home/me/.ssh/id"),
          grants.map((each) => grant(each)),
          now,
        ),
      );
      assert.ok(hiddenPaths(plan).includes(path("/home/me/.ssh")));
    }
    assert.deepEqual(mountsOf(read("/home/me/.ssh/id"), [home, key]), ["/home/me/.ssh ro"]);
    const deep = [home, { ...key, paths: ["/home/me/app/.env"], expires: EARLIER }];
    assert.deepEqual(mountsOf(read("/home/me/app/.env"), deep), ["/home/me ro"]);
    assert.ok(maskedOf(read("/home/me/app/.env"), deep).includes(path("/home/me/app/.env")));
  });

  test("shows a credential place beside what is asked for where one of those that permit names it", () => {
    const grants = [grant({ id: "a", paths: ["/home/me", "/home/me/.ssh"] }), grant({ id: "b", paths: ["/home/me"] })];
    assert.deepEqual(planOf(ask(read("/home/me/a"), grants)).exposed, ["/home/me/.ssh"]);
  });

  test("shows no credential place beside what is asked for that only such a grant names", () => {
    const old = { ...expiredAsk, paths: ["/home/me", "/home/me/.ssh"] };
    const grants = [grant(old), grant({ id: "now", paths: ["/home/me"] })];
    assert.deepEqual(planOf(ask(read("/home/me/a"), grants)).exposed, []);
  });

  test("gives an auto grant that has expired no mounts though it has the lower id", () => {
    const grants = [
      { id: "a", tool: "shell", paths: ["/srv/a", "/srv/c"], expires: EARLIER },
      { id: "b", tool: "shell", paths: ["/srv/a"] },
    ];
    assert.deepEqual(mountsOf(shell("/srv/a"), grants), ["/srv/a rw"]);
  });

  test("gives a grant above its max_taint no mounts", () => {
    const grants = [
      { id: "a", tool: "shell", paths: ["/srv/a", "/srv/c"], max_taint: "public" },
      { id: "b", tool: "shell", paths: ["/srv/a"] },
    ];
    assert.deepEqual(mountsOf(shell("/srv/a"), grants, { taint: "private" }), ["/srv/a rw"]);
  });
});

describe("the plan masks", () => {
  const denied = { id: "no", mode: "deny", paths: ["/srv/notes/diary"] } as const;

  test("what a deny names below a mount, in the box of every tool", () => {
    assert.deepEqual(deniedOf(read("/srv/notes/a"), [{}, denied]), ["/srv/notes/diary"]);
    assert.deepEqual(deniedOf(write("/srv/notes/a"), [{ tool: "write_file" }, denied]), ["/srv/notes/diary"]);
    assert.deepEqual(deniedOf(shell(), [{ tool: "shell" }, denied]), ["/srv/notes/diary"]);
  });

  test("what a deny of another tool, session or origin names", () => {
    for (const other of [
      { tool: "shell" },
      { session: "chat-9" },
      { origins: ["mcp"] },
      { args: { path: { in: ["/srv/notes/diary/x"] } } },
    ]) {
      assert.deepEqual(deniedOf(read("/srv/notes/a"), [{}, { ...denied, ...other }]), ["/srv/notes/diary"]);
    }
  });

  test("not what lies elsewhere, nor what only begins like the mount", () => {
    assert.deepEqual(deniedOf(read("/srv/notes/a"), [{}, { ...denied, paths: ["/srv/notes2/x", "/home/x"] }]), []);
  });

  test("the outermost of nested paths, sorted, each once", () => {
    const grants = [
      {},
      { ...denied, paths: ["/srv/notes/z", "/srv/notes/diary/deep"] },
      { ...denied, id: "no2", paths: ["/srv/notes/diary"] },
    ];
    assert.deepEqual(deniedOf(read("/srv/notes/a"), grants), ["/srv/notes/diary", "/srv/notes/z"]);
  });

  test("credential places directly below a mount", () => {
    const masked = maskedOf(shell(), [{ tool: "shell", paths: ["/home/me"] }]);
    for (const place of [
      ".ssh",
      ".gnupg",
      ".aws",
      ".kube",
      ".netrc",
      ".env",
      ".mozilla",
      ".password-store",
      ".config/google-chrome",
    ]) {
      assert.ok(masked.includes(path(`/home/me/${place}`)), place);
    }
  });

  test("the credential place that the call asks for, however deep it lies", () => {
    assert.ok(maskedOf(read("/srv/notes/deep/down/.ssh/id"), [{}]).includes(path("/srv/notes/deep/down/.ssh")));
  });

  test("what it hides without naming it in the plan: the usual places, unless the grant names one", () => {
    const plan = planOf(ask(read("/home/me/a"), [grant({ paths: ["/home/me", "/home/me/.ssh", "/srv/else/.aws"] })]));
    assert.deepEqual(plan.masked, []);
    assert.deepEqual(plan.exposed, ["/home/me/.ssh"]);
  });

  test("no credential place that the grant names", () => {
    const masked = maskedOf(read("/home/me/.ssh/config"), [{ paths: ["/home/me/.ssh"] }]);
    assert.ok(!masked.includes(path("/home/me/.ssh")));
    assert.ok(!maskedOf(read("/home/me/a"), [{ paths: ["/home/me", "/home/me/.ssh"] }]).includes(path("/home/me/.ssh")));
  });
});

describe("the label of a call takes in", () => {
  const labelled = (at: string) => ({ path: path(at), label: { taint: "secret", untrusted: true } }) as const;
  const labelOf = (call: CallRequest, grants: readonly GrantFields[], ...at: readonly string[]): string => {
    const { label } = ask(
      call,
      grants.map((each) => grant(each)),
      { pathLabels: at.map(labelled) },
    ).record;
    return `${label?.taint}${label?.untrusted === true ? " untrusted" : ""}`;
  };

  test("for read_file the path, its parents, and what is under it", () => {
    for (const at of ["/srv/notes/a", "/srv/notes", "/srv", "/srv/notes/a/b"]) {
      assert.equal(labelOf(read("/srv/notes/a"), [{}], at), "secret untrusted", at);
    }
  });

  test("for read_file no neighbour", () => {
    assert.equal(labelOf(read("/srv/notes/a"), [{}], "/srv/notes/b", "/srv/notes/ab", "/srv/not"), "private");
  });

  test("for shell everything under each mount, and the mounts' parents", () => {
    for (const at of ["/srv/a/x/y", "/srv/b", "/srv"]) {
      assert.equal(labelOf(shell(), [{ tool: "shell", paths: ["/srv/a", "/srv/b"] }], at), "secret untrusted", at);
    }
    assert.equal(labelOf(shell(), [{ tool: "shell", paths: ["/srv/a"] }], "/srv/c"), "private");
  });

  test("for shell what is masked as well, so that adding a deny can't lower a label", () => {
    const grants = [{ tool: "shell" }, { id: "no", mode: "deny", paths: ["/srv/notes/diary"] }];
    assert.equal(labelOf(shell(), grants, "/srv/notes/diary/x"), "secret untrusted");
  });

  test("for write_file and http_fetch no path", () => {
    assert.equal(labelOf(write("/srv/notes/a"), [{ tool: "write_file" }], "/srv/notes/a"), "private");
    assert.equal(labelOf(fetchOf("https://example.com/"), [{ tool: "http_fetch" }], "/srv"), "public untrusted");
  });

  test("the label that a credential place got beside that of being one", () => {
    const pathLabels = [{ path: path("/home/me/.ssh"), label: { taint: "public", untrusted: true } }] as const;
    for (const call of [shell(), read("/home/me/.ssh/config")]) {
      const { label } = ask(call, [grant({ tool: call.tool, paths: ["/home/me/.ssh"] })], { pathLabels }).record;
      assert.deepEqual(label, { taint: "secret", untrusted: true });
    }
  });

  test("that a credential place is secret, though nobody labelled it", () => {
    assert.equal(labelOf(read("/srv/notes/.env"), [{ paths: ["/srv/notes/.env"] }]), "secret");
    assert.equal(labelOf(read("/srv/notes/x/.config/gh/hosts.yml"), [{}]), "secret");
    assert.equal(labelOf(shell(), [{ tool: "shell", paths: ["/home/me/.aws"] }]), "secret");
  });
});

describe("a call that runs writes", () => {
  const writesOf = (call: CallRequest, fields: GrantFields): readonly string[] | undefined => {
    const verdict = ask(call, [grant(fields)]);
    return verdict.kind === "allowed" ? verdict.writes : undefined;
  };

  test("write_file its target, shell every mount, the others nothing", () => {
    assert.deepEqual(writesOf(write("/srv/notes/a"), { tool: "write_file" }), ["/srv/notes/a"]);
    assert.deepEqual(writesOf(shell(), { tool: "shell", paths: ["/srv/a", "/srv/b"] }), ["/srv/a", "/srv/b"]);
    assert.deepEqual(writesOf(read("/srv/notes/a"), {}), []);
    assert.deepEqual(writesOf(fetchOf("https://example.com/"), { tool: "http_fetch" }), []);
  });
});

test("host_exec holds for a box only where every grant that permits the call says so", () => {
  const hostExec = (...grants: readonly GrantFields[]): boolean | undefined => {
    const verdict = ask(
      shell(),
      grants.map((each) => grant({ tool: "shell", ...each })),
    );
    return verdict.kind === "allowed" ? verdict.decision.run.host_exec : undefined;
  };
  assert.equal(hostExec({}), false);
  assert.equal(hostExec({ host_exec: true }), true);
  assert.equal(hostExec({ host_exec: true }, { id: "b" }), false);
});
