/** Which addresses may be dialled: public ones, by the registries of special-purpose addresses. Everything unknown is refused. */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** An address in the one spelling that is dialled. */
export interface PublicAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

type Range = readonly [network: string, bits: number];

/** Special-purpose ranges of the IANA registry, multicast, and one address that clouds keep for the host's own services. */
const REFUSED_IPV4: readonly Range[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // In no registry: the wire server of Azure, which every machine there reaches.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  // Reachable from everywhere, but made for DNS: no web page is there.
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** All that is assigned to the public network so far. */
const GLOBAL_IPV6: Range = ["2000::", 3];

/** What isn't public inside of it: protocols' own numbers, documentation, addresses that hold another one, and what was given back. */
const REFUSED_IPV6: readonly Range[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3ffe::", 16],
  ["3fff::", 20],
];

function listOf(family: "ipv4" | "ipv6", ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of ranges) list.addSubnet(network, bits, family);
  return list;
}

const REFUSED_4 = listOf("ipv4", REFUSED_IPV4);
const GLOBAL_6 = listOf("ipv6", [GLOBAL_IPV6]);
const REFUSED_6 = listOf("ipv6", REFUSED_IPV6);

/** The eight groups of an IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  const hex = address.replace(/([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)$/u, (_, ...parts: readonly string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = "", tail = ""] = hex.split("::");
  const [left, right] = [head, tail].map((half) => (half === "" ? [] : half.split(":").map((group) => Number.parseInt(group, 16))));
  if (left === undefined || right === undefined) return [];
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

/** The IPv4 address inside of an IPv4-mapped address, and of one that a NAT64 gateway translates. No other form is unwrapped. */
function embeddedIPv4(address: string): { readonly form: "mapped" | "nat64"; readonly inside: string } | undefined {
  const [a, b, c, d, e, f, high = 0, low = 0] = groupsOf(address);
  if (c !== 0 || d !== 0 || e !== 0) return undefined;
  const inside = [high >> 8, high & 255, low >> 8, low & 255].join(".");
  if (a === 0 && b === 0 && f === 0xffff) return { form: "mapped", inside };
  return a === 0x64 && b === 0xff9b && f === 0 ? { form: "nat64", inside } : undefined;
}

function judgeIPv4(address: string): PublicAddress | undefined {
  return REFUSED_4.check(address, "ipv4") ? undefined : { address, family: 4 };
}

/**
 * The address to dial, or undefined where it isn't public, or isn't an address in its usual spelling. A mapped address is dialled as
 * the IPv4 address that it is.
 */
export function judgeAddress(text: string): PublicAddress | undefined {
  if (isIPv4(text)) return judgeIPv4(text);
  // A zone names a link of this machine.
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const embedded = embeddedIPv4(text);
  if (embedded !== undefined) {
    const judged = judgeIPv4(embedded.inside);
    return judged !== undefined && embedded.form === "nat64" ? { address: text, family: 6 } : judged;
  }
  return GLOBAL_6.check(text, "ipv6") && !REFUSED_6.check(text, "ipv6") ? { address: text, family: 6 } : undefined;
}
