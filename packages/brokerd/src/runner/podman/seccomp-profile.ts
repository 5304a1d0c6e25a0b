/** The system call filter of podman's boxes: podman's own default profile, with what a box must not do taken out of it. */
import { type Parsed, parseJsonBytes } from "@boxmaker/proto";
import { z } from "zod";
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
  UNAVAILABLE,
  UNIX_FAMILY,
} from "../seccomp-policy.ts";

/** A profile as podman reads it; keys that we don't look at stay as they are. */
const Profile = z.looseObject({
  defaultAction: z.literal("SCMP_ACT_ERRNO"),
  archMap: z.array(z.looseObject({ architecture: z.string(), subArchitectures: z.array(z.string()).nullish() })),
  syscalls: z.array(z.looseObject({ names: z.array(z.string()), action: z.string() })),
});

interface Condition {
  readonly index: number;
  /** Bits of the argument that are compared. Never all 64: the kernel reads 32 of them, and the rest is the caller's to choose. */
  readonly mask: number;
  readonly equals: number;
}

const INT_MASK = 0xffffffff;
const EPERM = 1;
const EACCES = 13;

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args: readonly { readonly index: number; readonly value: number; readonly valueTwo: number; readonly op: string }[];
  readonly errnoRet?: number;
}

function rule(name: string, conditions: readonly Condition[], errno?: number): Rule {
  const args = conditions.map(({ index, mask, equals }) => ({ index, value: mask, valueTwo: equals, op: "SCMP_CMP_MASKED_EQ" }));
  const action = errno === undefined ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO";
  return { names: [name], action, args, ...(errno === undefined ? {} : { errnoRet: errno }) };
}

function isInt(index: number, equals: number): Condition {
  return { index, mask: INT_MASK, equals };
}

function lacks(index: number, bits: number): Condition {
  return { index, mask: bits, equals: 0 };
}

/** One rule per set-id bit, so that asking for either says "not permitted". */
function refuseSetId(name: string, index: number): readonly Rule[] {
  return [0o4000, 0o2000].map((bit) => rule(name, [{ index, mask: bit, equals: bit }], EPERM));
}

/** Unix sockets are refused plainly, or allowed. */
function unixRule(allowed: boolean): Rule {
  return rule("socket", [isInt(0, UNIX_FAMILY)], ...(allowed ? [] : [EACCES]));
}

function ownRules(unixSockets: boolean): readonly Rule[] {
  return [
    ...Object.values(SOCKET_FAMILIES).map((family) => rule("socket", [isInt(0, family)])),
    rule("socket", [isInt(0, NETLINK.family), isInt(2, NETLINK.protocol)]),
    unixRule(unixSockets),
    ...Object.values(PAIR_TYPES).map((type) => rule("socketpair", [{ index: 1, mask: SOCKET_TYPE_MASK, equals: type }])),
    ...Object.entries(MODE_ARGUMENT).flatMap(([name, index]) => [
      rule(name, [lacks(index, SET_ID_BITS)]),
      ...refuseSetId(name, index),
    ]),
    ...Object.entries(OPEN_ARGUMENTS).flatMap(([name, { flags, mode }]) => [
      rule(name, [lacks(flags, CREATING_FLAGS)]),
      rule(name, [lacks(mode, SET_ID_BITS)]),
    ]),
    rule("clone", [lacks(0, NAMESPACE_FLAGS)]),
  ];
}

/** Calls of which the default profile's rules are dropped: they get rules of our own, or none. */
const TAKEN_OVER: ReadonlySet<string> = new Set([
  "socket",
  "socketcall",
  "socketpair",
  "clone",
  "umount",
  ...Object.keys(MODE_ARGUMENT),
  ...Object.keys(OPEN_ARGUMENTS),
  ...UNAVAILABLE,
  ...REFUSED,
]);

/**
 * Rewrites podman's default profile for our boxes: no Unix sockets, no set-id files, no namespaces or mounts, and no
 * ABI but the machine's own (the sub-architectures would bring back every call under another number).
 *
 * `unixSockets` allows those: for boxes that talk by a proxy's socket, in which no other can be reached by a path.
 */
export function hardenProfile(bytes: Uint8Array, { unixSockets }: { readonly unixSockets: boolean }): Parsed<string> {
  const parsed = parseJsonBytes(Profile, bytes);
  if (parsed.kind === "invalid") return parsed;
  const { archMap, syscalls } = parsed.value;
  const kept = syscalls
    .map((entry) => ({ ...entry, names: entry.names.filter((name) => !TAKEN_OVER.has(name)) }))
    .filter(({ names }) => names.length > 0);
  const profile = {
    ...parsed.value,
    archMap: archMap.map((entry) => ({ ...entry, subArchitectures: [] })),
    syscalls: [...kept, ...ownRules(unixSockets)],
  };
  return { kind: "ok", value: JSON.stringify(profile) };
}
