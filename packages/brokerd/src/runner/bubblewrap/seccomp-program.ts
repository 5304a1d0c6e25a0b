/** The system call filter of bubblewrap's boxes, as the bytes of a classic BPF program (seccomp(2)). */
import {
  CREATING_FLAGS,
  MODE_ARGUMENT,
  NAMESPACE_FLAGS,
  NETLINK,
  OPEN_ARGUMENTS,
  PAIR_TYPES,
  REFUSED,
  SET_ID_BITS,
  SOCKET_FAMILIES,
  SOCKET_TYPE_MASK,
  TERMINAL_INJECTION,
  UNAVAILABLE,
  UNIX_FAMILY,
} from "../seccomp-policy.ts";
import { type FilterMachine, isKnownCall, MACHINES, type SystemCall } from "./system-calls.ts";

/** Operation codes: load a word at an offset, mask it, compare, return. */
const LOAD = 0x20;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

/** Offsets in struct seccomp_data. The kernel reads 32 bits of an int argument, so only the low word of each counts. */
const NUMBER_OFFSET = 0;
const MACHINE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const ERRNO = 0x00050000;
const EPERM = 1;
const EACCES = 13;
const ENOSYS = 38;

/** The first number of the x32 ABI, whose calls are x86-64's under other numbers. */
const X32_BIT = 0x40000000;

interface Instruction {
  readonly code: number;
  readonly whenTrue: number;
  readonly whenFalse: number;
  readonly value: number;
}

function instruction(code: number, value: number, whenTrue: number = 0, whenFalse: number = 0): Instruction {
  return { code, whenTrue, whenFalse, value };
}

function loadArgument(index: number): Instruction {
  return instruction(LOAD, ARGUMENTS_OFFSET + ARGUMENT_BYTES * index);
}

function returnErrno(errno: number): Instruction {
  return instruction(RETURN, ERRNO | errno);
}

const ALLOWED = instruction(RETURN, ALLOW);

/** Refuses where the loaded word has any of these bits. */
function refuseBits(bits: number): readonly Instruction[] {
  return [instruction(JUMP_ANY_BIT, bits, 0, 1), returnErrno(EPERM), ALLOWED];
}

function refuseValues(values: readonly number[]): readonly Instruction[] {
  return [...values.flatMap((value) => [instruction(JUMP_EQUAL, value, 0, 1), returnErrno(EPERM)]), ALLOWED];
}

function allowValues(values: readonly number[]): readonly Instruction[] {
  return values.flatMap((value) => [instruction(JUMP_EQUAL, value, 0, 1), ALLOWED]);
}

/** What is done about one call: each list ends in a return. */
function blocks(unixSockets: boolean): ReadonlyMap<SystemCall, readonly Instruction[]> {
  const found = new Map<SystemCall, readonly Instruction[]>();
  for (const call of UNAVAILABLE) found.set(call, [returnErrno(ENOSYS)]);
  for (const call of REFUSED) found.set(call, [returnErrno(EPERM)]);
  for (const [call, index] of Object.entries(MODE_ARGUMENT)) {
    if (isKnownCall(call)) found.set(call, [loadArgument(index), ...refuseBits(SET_ID_BITS)]);
  }
  for (const [call, { flags, mode }] of Object.entries(OPEN_ARGUMENTS)) {
    const makes = [loadArgument(flags), instruction(JUMP_ANY_BIT, CREATING_FLAGS, 1, 0), ALLOWED];
    if (isKnownCall(call)) found.set(call, [...makes, loadArgument(mode), ...refuseBits(SET_ID_BITS)]);
  }
  const families = allowValues([...Object.values(SOCKET_FAMILIES), ...(unixSockets ? [UNIX_FAMILY] : [])]);
  const netlink = [instruction(JUMP_EQUAL, NETLINK.family, 0, 3), loadArgument(2), ...allowValues([NETLINK.protocol])];
  found.set("socket", [loadArgument(0), ...families, ...netlink, returnErrno(EACCES)]);
  const types = allowValues(Object.values(PAIR_TYPES));
  found.set("socketpair", [loadArgument(1), instruction(AND, SOCKET_TYPE_MASK), ...types, returnErrno(EACCES)]);
  found.set("clone", [loadArgument(0), ...refuseBits(NAMESPACE_FLAGS)]);
  found.set("ioctl", [loadArgument(1), ...refuseValues(Object.values(TERMINAL_INJECTION))]);
  return found;
}

function assemble({ audit, hasX32, numbers }: FilterMachine, unixSockets: boolean): readonly Instruction[] {
  const killOthers = [instruction(LOAD, MACHINE_OFFSET), instruction(JUMP_EQUAL, audit, 1, 0), instruction(RETURN, KILL_PROCESS)];
  const killX32 = hasX32 ? [instruction(JUMP_AT_LEAST, X32_BIT, 0, 1), instruction(RETURN, KILL_PROCESS)] : [];
  const rules = [...blocks(unixSockets)].flatMap(([call, block]) => {
    const number = numbers[call];
    return number === undefined ? [] : [instruction(JUMP_EQUAL, number, 0, block.length), ...block];
  });
  return [...killOthers, instruction(LOAD, NUMBER_OFFSET), ...killX32, ...rules, ALLOWED];
}

const INSTRUCTION_BYTES = 8;

/**
 * The program for a machine (`process.arch`), or undefined where its system calls aren't known: then no box may be started.
 *
 * Everything but what seccomp-policy.ts names is allowed; calls of any other ABI kill the process. `unixSockets`
 * allows those: for boxes that talk by a proxy's socket, in which no other can be reached by a path.
 */
export function seccompProgram(arch: string, { unixSockets }: { readonly unixSockets: boolean }): Buffer | undefined {
  const machine = MACHINES.get(arch);
  if (machine === undefined) return undefined;
  const instructions = assemble(machine, unixSockets);
  const program = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  for (const [index, { code, whenTrue, whenFalse, value }] of instructions.entries()) {
    const offset = index * INSTRUCTION_BYTES;
    program.writeUInt16LE(code, offset);
    program.writeUInt8(whenTrue, offset + 2);
    program.writeUInt8(whenFalse, offset + 3);
    program.writeUInt32LE(value, offset + 4);
  }
  return program;
}
