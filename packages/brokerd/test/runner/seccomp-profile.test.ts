import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { hardenProfile } from "../../src/runner/podman/seccomp-profile.ts";
import { REFUSED, UNAVAILABLE } from "../../src/runner/seccomp-policy.ts";

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly { readonly index: number; readonly value: number; readonly valueTwo: number; readonly op: string }[];
}

const SMALL = {
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 38,
  archMap: [{ architecture: "SCMP_ARCH_X86_64", subArchitectures: ["SCMP_ARCH_X86", "SCMP_ARCH_X32"] }],
  syscalls: [
    { names: ["read", "open", "socketpair", "chmod", "io_uring_setup", "mount", "clone3"], action: "SCMP_ACT_ALLOW", args: [] },
    { names: ["socket"], action: "SCMP_ACT_ALLOW", args: null, includes: { caps: ["CAP_AUDIT_WRITE"] } },
    { names: ["socket"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: 16, valueTwo: 0, op: "SCMP_CMP_NE" }] },
  ],
};

function harden(
  profile: unknown,
  unixSockets: boolean = false,
): { readonly archMap: readonly object[]; readonly syscalls: readonly Rule[] } {
  const hardened = hardenProfile(Buffer.from(JSON.stringify(profile)), { unixSockets });
  assert.ok(hardened.kind === "ok");
  return JSON.parse(hardened.value) as ReturnType<typeof harden>;
}

/** What libseccomp does with an allow-list: the action of the first rule whose conditions all hold. */
function ask(rules: readonly Rule[], name: string, ...args: readonly bigint[]): string {
  const matching = rules.filter(
    (rule) =>
      rule.names.includes(name) &&
      (rule.args ?? []).every(({ index, value, valueTwo, op }) => {
        assert.equal(op, "SCMP_CMP_MASKED_EQ");
        return ((args[index] ?? 0n) & BigInt(value)) === BigInt(valueTwo);
      }),
  );
  const actions = new Set(matching.map(({ action }) => action));
  assert.ok(actions.size <= 1, `${name} is both allowed and refused`);
  return matching[0]?.action ?? "default";
}

test("hardenProfile() keeps what it doesn't take over, and empties the sub-architectures", () => {
  const { archMap, syscalls } = harden(SMALL);
  assert.deepEqual(archMap, [{ architecture: "SCMP_ARCH_X86_64", subArchitectures: [] }]);
  assert.equal(ask(syscalls, "read"), "SCMP_ACT_ALLOW");
});

const profiles: readonly (readonly [string, unknown])[] = [
  ["a small profile", SMALL],
  ["this machine's own profile", existsSync("/usr/share/containers/seccomp.json") ? readProfile() : undefined],
];

function readProfile(): unknown {
  return JSON.parse(readFileSync("/usr/share/containers/seccomp.json", "utf8"));
}

for (const [name, profile] of profiles) {
  test(`hardenProfile() of ${name} refuses Unix sockets, set-id modes, namespaces and io_uring`, (t) => {
    if (profile === undefined) {
      t.skip("needs podman's profile at /usr/share/containers/seccomp.json");
      return;
    }
    const { syscalls } = harden(profile);
    const allowed = (call: string, ...args: readonly bigint[]): boolean => ask(syscalls, call, ...args) === "SCMP_ACT_ALLOW";
    for (const family of [2n, 10n, 0xffff_ffff_0000_0002n]) assert.ok(allowed("socket", family, 1n, 0n));
    assert.ok(allowed("socket", 16n, 3n, 0n));
    for (const family of [1n, 0x1_0000_0001n, 17n, 40n]) assert.ok(!allowed("socket", family, 1n, 0n));
    assert.ok(!allowed("socket", 16n, 3n, 9n));
    assert.ok(allowed("socketpair", 1n, 1n) && allowed("socketpair", 1n, 0o2000001n) && !allowed("socketpair", 1n, 2n));
    assert.ok(allowed("chmod", 0n, 0o755n) && allowed("fchmodat", 3n, 0n, 0o1777n));
    for (const mode of [0o4755n, 0o2755n, 0o6755n]) {
      assert.equal(ask(syscalls, "chmod", 0n, mode), "SCMP_ACT_ERRNO");
      assert.equal(ask(syscalls, "fchmodat", 3n, 0n, mode), "SCMP_ACT_ERRNO");
      assert.ok(!allowed("openat", 3n, 0n, 0x41n, mode));
      assert.ok(allowed("openat", 3n, 0n, 0n, mode));
    }
    assert.ok(allowed("openat", 3n, 0n, 0x41n, 0o666n));
    assert.ok(allowed("clone", 0x003d0f00n) && !allowed("clone", 0x10000011n));
    for (const call of [...REFUSED, ...UNAVAILABLE, "socketcall", "umount"]) assert.ok(!allowed(call), call);
  });
}

test("hardenProfile() lets boxes that talk by a proxy's socket have Unix sockets, and changes nothing else for them", () => {
  const isUnix = ({ names, args }: Rule): boolean => names.includes("socket") && args?.[0]?.valueTwo === 1;
  const [forEgress, other] = [harden(SMALL, true).syscalls, harden(SMALL).syscalls];
  assert.deepEqual(
    [forEgress, other].map((rules) => rules.filter(isUnix).map(({ action }) => action)),
    [["SCMP_ACT_ALLOW"], ["SCMP_ACT_ERRNO"]],
  );
  assert.deepEqual(
    forEgress.filter((rule) => !isUnix(rule)),
    other.filter((rule) => !isUnix(rule)),
  );
});

test("hardenProfile() refuses what is no profile that denies by default", () => {
  for (const bad of [{}, { ...SMALL, defaultAction: "SCMP_ACT_ALLOW" }, { ...SMALL, syscalls: [{ names: "all" }] }, []]) {
    assert.equal(hardenProfile(Buffer.from(JSON.stringify(bad)), { unixSockets: false }).kind, "invalid");
  }
  assert.equal(hardenProfile(Buffer.from("not JSON"), { unixSockets: true }).kind, "invalid");
});
