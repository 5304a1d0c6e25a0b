import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { seccompProgram } from "../../src/runner/bubblewrap/seccomp-program.ts";
import { MACHINES } from "../../src/runner/bubblewrap/system-calls.ts";
import { REFUSED, UNAVAILABLE } from "../../src/runner/seccomp-policy.ts";
import { runFilter } from "./filter-machine.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x50001;
const EACCES = 0x5000d;
const ENOSYS = 0x50026;
const MOST_INSTRUCTIONS = 4096;

function programOf(arch: string, unixSockets: boolean = false): Buffer {
  const program = seccompProgram(arch, { unixSockets });
  assert.ok(program !== undefined);
  return program;
}

/** What the filter of a machine says to a call by name. */
function ask(arch: "x64" | "arm64", name: string, ...args: readonly (number | bigint)[]): number {
  const machine = MACHINES.get(arch);
  assert.ok(machine !== undefined);
  const number = Object.entries(machine.numbers).find(([call]) => call === name)?.[1];
  assert.ok(number !== undefined, name);
  return runFilter(programOf(arch), { audit: machine.audit, number, args: args.map(BigInt) });
}

for (const arch of ["x64", "arm64"] as const) {
  test(`the filter for ${arch} lets a box have internet sockets and no Unix socket, however the family is spelled`, () => {
    assert.equal(ask(arch, "socket", 2, 1, 0), ALLOW);
    assert.equal(ask(arch, "socket", 10, 2, 0), ALLOW);
    assert.equal(ask(arch, "socket", 16, 3, 0), ALLOW);
    assert.equal(ask(arch, "socket", 1, 1, 0), EACCES);
    // The kernel takes the family from the low 32 bits.
    assert.equal(ask(arch, "socket", 0x1_0000_0001n, 1, 0), EACCES);
    assert.equal(ask(arch, "socket", 0xffff_ffff_0000_0001n, 1, 0), EACCES);
    for (const family of [0, 3, 17, 38, 40, 44]) assert.equal(ask(arch, "socket", family, 3, 0), EACCES);
    assert.equal(ask(arch, "socket", 16, 3, 9), EACCES);
  });

  test(`the filter for ${arch} lets a box that talks by a proxy's socket have Unix sockets, and is the same otherwise`, () => {
    const { audit, numbers } = MACHINES.get(arch) ?? assert.fail();
    const { socket = assert.fail(), socketpair = assert.fail() } = numbers;
    const [forEgress, other] = [programOf(arch, true), programOf(arch)];
    const both = (number: number, ...args: readonly number[]): readonly [number, number] => {
      const call = { audit, number, args: args.map(BigInt) };
      return [runFilter(forEgress, call), runFilter(other, call)];
    };
    assert.deepEqual(both(socket, 1, 1, 0), [ALLOW, EACCES]);
    for (const family of [0, 3, 17, 38, 40, 44]) assert.deepEqual(both(socket, family, 3, 0), [EACCES, EACCES]);
    assert.deepEqual(both(socket, 16, 3, 9), [EACCES, EACCES]);
    assert.deepEqual(both(socketpair, 1, 2), [EACCES, EACCES]);
    for (const number of Object.values(numbers)) {
      if (number === socket) continue;
      const [here, there] = both(number, 0o6777, 0o6777, 0o6777, 0o6777);
      assert.equal(here, there);
    }
  });

  test(`the filter for ${arch} lets a box have pairs that stay connected, and no others`, () => {
    for (const type of [1, 5, 1 | 0o2000000, 1 | 0o4000]) assert.equal(ask(arch, "socketpair", 1, type), ALLOW);
    for (const type of [2, 3, 4, 0, 2 | 0o2000000]) assert.equal(ask(arch, "socketpair", 1, type), EACCES);
  });

  test(`the filter for ${arch} refuses set-id modes wherever a mode is given`, () => {
    const creating = 0x41;
    for (const mode of [0o4755, 0o2755, 0o6000]) {
      assert.equal(ask(arch, "fchmod", 3, mode), EPERM);
      assert.equal(ask(arch, "fchmodat", 3, 0, mode), EPERM);
      assert.equal(ask(arch, "fchmodat2", 3, 0, mode), EPERM);
      assert.equal(ask(arch, "mknodat", 3, 0, mode), EPERM);
      assert.equal(ask(arch, "openat", 3, 0, creating, mode), EPERM);
      assert.equal(ask(arch, "openat", 3, 0, 0x400000, mode), EPERM);
    }
    assert.equal(ask(arch, "fchmod", 3, 0o1777), ALLOW);
    assert.equal(ask(arch, "openat", 3, 0, creating, 0o666), ALLOW);
    // Without a file to make, the mode is whatever the register held.
    assert.equal(ask(arch, "openat", 3, 0, 0, 0o4755), ALLOW);
  });

  test(`the filter for ${arch} refuses namespaces, terminals' input queues, and all that is listed`, () => {
    const { numbers } = MACHINES.get(arch) ?? assert.fail();
    assert.equal(ask(arch, "clone", 0x003d0f00), ALLOW);
    for (const flag of [0x10000000, 0x20000, 0x40000000]) assert.equal(ask(arch, "clone", flag | 17), EPERM);
    assert.equal(ask(arch, "ioctl", 0, 0x5401), ALLOW);
    for (const request of [0x5412, 0x541c]) assert.equal(ask(arch, "ioctl", 0, request), EPERM);
    for (const name of REFUSED) if (Object.hasOwn(numbers, name)) assert.equal(ask(arch, name), EPERM, name);
    for (const name of UNAVAILABLE) assert.equal(ask(arch, name), ENOSYS, name);
  });

  test(`the filter for ${arch} lets other calls through and kills what comes from another ABI`, () => {
    const program = programOf(arch);
    const { audit } = MACHINES.get(arch) ?? assert.fail();
    assert.ok(program.length / 8 <= MOST_INSTRUCTIONS);
    for (const number of [0, 1, 1000]) assert.equal(runFilter(program, { audit, number, args: [] }), ALLOW);
    // i386, arm and nonsense.
    for (const other of [0x40000003, 0x40000028, 0]) {
      assert.equal(runFilter(program, { audit: other, number: 1, args: [] }), KILL);
    }
    const x32 = runFilter(program, { audit, number: 0x40000001, args: [] });
    assert.equal(x32, arch === "x64" ? KILL : ALLOW);
  });
}

test("the filter refuses set-id modes in the old calls that only x86-64 has", () => {
  assert.equal(ask("x64", "chmod", 0, 0o4755), EPERM);
  assert.equal(ask("x64", "creat", 0, 0o4755), EPERM);
  assert.equal(ask("x64", "mknod", 0, 0o4755), EPERM);
  assert.equal(ask("x64", "open", 0, 0x41, 0o4755), EPERM);
  assert.equal(ask("x64", "open", 0, 0, 0o4755), ALLOW);
});

test("there is no filter for machines whose system calls aren't known", () => {
  assert.equal(seccompProgram("riscv64", { unixSockets: false }), undefined);
});

test("the system call numbers are the kernel's", (t) => {
  const headers = [
    ["x64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", /^#define __NR_(\w+)\s+(\d+)/gmu],
    ["arm64", "/usr/include/asm-generic/unistd.h", /^#define __NR(?:3264)?_(\w+)\s+(\d+)/gmu],
  ] as const;
  if (!headers.every(([, file]) => existsSync(file))) {
    t.skip("needs the kernel's headers (linux-libc-dev)");
    return;
  }
  for (const [arch, file, pattern] of headers) {
    const known = new Map([...readFileSync(file, "utf8").matchAll(pattern)].map(([, name, number]) => [name, Number(number)]));
    for (const [name, number] of Object.entries(MACHINES.get(arch)?.numbers ?? {})) {
      // Newer than some headers.
      if (known.has(name)) assert.equal(number, known.get(name), `${arch} ${name}`);
    }
  }
});
