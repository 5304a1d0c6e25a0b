/** Each attack with the one defence that stops it, and how that is taken away in each sandbox. */
import type { AttackName } from "../../src/attack/finding.ts";
import type { Edit } from "./edit.ts";

export interface Sabotage {
  readonly without: string;
  /** Precisely these get through then. */
  readonly through: readonly AttackName[];
  /** What is tried; the attacks of the one box unless given. */
  readonly only?: readonly AttackName[];
  readonly config?: Readonly<Record<string, number>>;
  readonly edits: Readonly<Record<"podman" | "bubblewrap", readonly Edit[] | string>>;
  /** Of the toolkit, which is then mounted over the box's own. */
  readonly toolkit?: readonly Omit<Edit, "file">[];
}

/** All that one box tries. */
export const ONE_BOX: readonly AttackName[] = [
  "outside-paths",
  "proc-root",
  "symbolic-links",
  "credentials",
  "denied-path",
  "read-only-places",
  "git-hooks",
  "make-set-id",
  "run-set-id",
  "unix-sockets",
  "host-network",
  "dns",
  "metadata-address",
  "ipv6",
  "tmp-fill",
];

/** All that needs a network of the attacks' own. */
const FETCHES: readonly AttackName[] = [
  "metadata-address",
  "ipv6",
  "redirects",
  "userinfo",
  "private-names",
  "nat64",
  "proxy-asked",
];

const URL_GRAMMAR = "../../proto/src/tools/fetch-url-grammar.ts";
const URL_GRAMMAR_BEGINS = "export function hostOfFetchUrl(text: string): string | undefined {";
/** As by a reader that knows userinfo, and throws it away. */
const NAIVE = ' if (text.includes("@")) return new URL(text).hostname;';

const NEEDS_SCOPE = "bubblewrap limits this by a scope of systemd, which the tests don't have";
const LAYERS = "runner/layers.ts";
const PODMAN = "runner/podman/podman-arguments.ts";
const BUBBLEWRAP = "runner/bubblewrap/bubblewrap-arguments.ts";

function both(...edits: readonly Edit[]): Sabotage["edits"] {
  return { podman: edits, bubblewrap: edits };
}

/** Mounts what lies beside a granted folder, too. */
function mounting(beside: string, granted = "given"): Edit {
  return {
    file: LAYERS,
    from: "layers: all.sort(",
    to: `layers: [...all, ...spec.mounts.filter(({ path }) => path.endsWith("/${granted}")).map(({ path }) => ({ kind: "read_only", path: path.replace(/${granted}$/u, "${beside}") }))].sort(`,
  };
}

export const SABOTAGES: readonly Sabotage[] = [
  { without: "mounting the granted paths alone", through: ["outside-paths"], edits: both(mounting("outside")) },
  {
    without: "keeping from the box what links lead to",
    through: ["symbolic-links"],
    edits: both(mounting("linked")),
  },
  {
    without: "a process namespace of its own",
    through: ["proc-root"],
    edits: {
      podman: [{ file: PODMAN, from: '"--ipc=none",', to: '"--ipc=none", "--pid=host",' }],
      bubblewrap: [
        {
          file: BUBBLEWRAP,
          from: '"--unshare-all",',
          to: '"--unshare-user-try", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",',
        },
      ],
    },
  },
  {
    without: "a read-only root",
    through: ["read-only-places"],
    edits: {
      podman: [{ file: PODMAN, from: '"--read-only",', to: "" }],
      bubblewrap: [{ file: BUBBLEWRAP, from: '"--remount-ro", "/", ', to: "" }],
    },
  },
  {
    without: "a read-only /dev",
    through: ["read-only-places"],
    edits: {
      podman: [{ file: PODMAN, from: "--tmpfs=/dev:ro,", to: "--tmpfs=/dev:rw," }],
      bubblewrap: "bubblewrap's /dev is a folder of the root",
    },
  },
  {
    without: "what the host executes being read-only",
    through: ["git-hooks"],
    edits: both({ file: LAYERS, from: "if (hostExec) return [];", to: "return [];" }),
  },
  {
    without: "covering the usual places of credentials",
    through: ["credentials"],
    edits: both({ file: LAYERS, from: "hidden: found.flatMap", to: "hidden: [].flatMap" }),
  },
  {
    without: "covering what a grant denies",
    through: ["denied-path"],
    edits: both({ file: LAYERS, from: "[...spec.masked, ...found.hidden]", to: "[...found.hidden]" }),
  },
  {
    without: "the filter of set-id modes",
    through: ["make-set-id"],
    edits: {
      podman: [
        { file: "runner/seccomp-policy.ts", from: "SET_ID_BITS = 0o6000", to: "SET_ID_BITS = 0" },
        { file: "runner/podman/seccomp-profile.ts", from: "return [0o4000, 0o2000].map", to: "return [].map" },
      ],
      bubblewrap: [{ file: "runner/seccomp-policy.ts", from: "SET_ID_BITS = 0o6000", to: "SET_ID_BITS = 0" }],
    },
  },
  {
    without: "nosuid and noexec on what is granted, and no new privileges",
    through: ["run-set-id"],
    edits: {
      podman: [
        { file: PODMAN, from: 'bind(path, path, "nosuid,nodev,noexec")', to: 'bind(path, path, "suid,nodev,exec")' },
        { file: PODMAN, from: '"--security-opt=no-new-privileges",', to: "" },
      ],
      bubblewrap: "bubblewrap mounts nosuid and forbids new privileges by itself",
    },
  },
  {
    without: "opening component by component, with what the links lead to mounted",
    through: ["read-links"],
    only: ["read-links"],
    edits: both(mounting("unread", "read")),
    toolkit: [
      { from: "Descriptor.handle(parent.entry(name), constants.O_NOFOLLOW)", to: "Descriptor.handle(parent.entry(name), 0)" },
      { from: "real !== root && !real.startsWith", to: "false && !real.startsWith" },
    ],
  },
  {
    without: "replacing a file instead of writing into it",
    through: ["hard-links"],
    only: ["hard-links"],
    edits: both(),
    toolkit: [{ from: "return place.parent === void 0 ? overwrite(", to: "return true ? overwrite(" }],
  },
  {
    without: "comparing what is mounted with what was decided about",
    through: ["swapped-mount"],
    only: ["swapped-mount"],
    edits: both({ file: "runner/mount-source.ts", from: 'return a.kind !== "unusable" &&', to: "return true ||" }),
  },
  {
    without: "the filter of Unix sockets",
    through: ["unix-sockets"],
    edits: {
      podman: [{ file: "runner/podman/seccomp-profile.ts", from: "...(allowed ? [] : [EACCES])", to: "" }],
      bubblewrap: [{ file: "runner/open-bubblewrap.ts", from: "{ unixSockets: false }", to: "{ unixSockets: true }" }],
    },
  },
  {
    without: "a network namespace of its own",
    through: ["host-network", "dns", "metadata-address", "ipv6"],
    edits: {
      podman: [{ file: PODMAN, from: '"--network=none"', to: '"--network=host"' }],
      bubblewrap: [{ file: BUBBLEWRAP, from: '(sharesNetwork ? ["--share-net"] : [])', to: '["--share-net"]' }],
    },
  },
  {
    without: "keeping the proxies' network from the tools",
    through: ["host-network", "dns", "metadata-address", "ipv6"],
    only: ["host-network", "dns", "metadata-address", "ipv6"],
    edits: {
      podman: [{ file: PODMAN, from: '"--network=none"', to: '`--network=${boxes.egressNetwork ?? "none"}`' }],
      bubblewrap: "bubblewrap's proxies have the machine's own network",
    },
  },
  {
    without: "judging IPv4 addresses",
    through: ["metadata-address", "nat64", "private-names"],
    only: FETCHES,
    edits: both(),
    toolkit: [{ from: 'REFUSED_4.check(address, "ipv4")', to: "false" }],
  },
  {
    without: "judging IPv6 addresses",
    through: ["ipv6"],
    only: ["ipv6", "nat64"],
    edits: both(),
    toolkit: [{ from: 'GLOBAL_6.check(text, "ipv6") && !REFUSED_6.check(text, "ipv6")', to: "true" }],
  },
  {
    without: "judging the IPv4 address within an IPv6 one",
    through: ["nat64"],
    only: ["ipv6", "nat64", "private-names"],
    edits: both(),
    toolkit: [{ from: "judged = judgeIPv4(embedded.inside)", to: "judged = { address: embedded.inside, family: 4 }" }],
  },
  {
    without: "a call of its own for another host",
    through: ["redirects"],
    only: ["redirects", "userinfo"],
    edits: both(),
    toolkit: [{ from: "host !== hostOfFetchUrl(from)", to: "false" }],
  },
  {
    without: "the proxy's own list of hosts",
    through: ["proxy-asked"],
    only: ["proxy-asked", "redirects"],
    edits: both(),
    toolkit: [{ from: "this.#options.allow.some(", to: "true || this.#options.allow.some(" }],
  },
  {
    without: "the proxy's own list of ports",
    through: ["proxy-asked"],
    only: ["proxy-asked"],
    edits: both(),
    toolkit: [{ from: "new Set([80, 443])", to: "new Set([22, 80, 443])" }],
  },
  {
    without: "refusing userinfo where arguments are read",
    through: ["userinfo"],
    only: ["userinfo"],
    edits: both({ file: URL_GRAMMAR, from: URL_GRAMMAR_BEGINS, to: `${URL_GRAMMAR_BEGINS}${NAIVE}` }),
  },
  {
    without: "refusing userinfo in a redirect",
    through: ["userinfo"],
    only: ["userinfo"],
    edits: both(),
    toolkit: [{ from: "function hostOfFetchUrl(text) {", to: `function hostOfFetchUrl(text) {${NAIVE}` }],
  },
  {
    without: "a size of /tmp",
    through: ["tmp-fill"],
    edits: {
      podman: [{ file: PODMAN, from: "size=64m", to: "size=200m" }],
      bubblewrap: [{ file: BUBBLEWRAP, from: "SCRATCH_BYTES = 64 *", to: "SCRATCH_BYTES = 200 *" }],
    },
  },
  {
    without: "dropping capabilities",
    through: ["capabilities"],
    only: ["capabilities"],
    edits: {
      podman: [{ file: PODMAN, from: '"--cap-drop=all",', to: '"--cap-add=NET_RAW",' }],
      bubblewrap: [{ file: BUBBLEWRAP, from: '"--cap-drop",\n    "ALL",', to: '"--cap-add",\n    "CAP_NET_RAW",' }],
    },
  },
  {
    without: "a limit on processes",
    through: ["fork-bomb"],
    only: ["fork-bomb"],
    edits: {
      podman: [{ file: PODMAN, from: "--pids-limit=${limits.pids}", to: "--pids-limit=4096" }],
      bubblewrap: NEEDS_SCOPE,
    },
  },
  {
    without: "a limit on memory",
    through: ["memory"],
    only: ["memory"],
    edits: {
      podman: [{ file: PODMAN, from: "=${limits.memory}`", to: "=2g`" }],
      bubblewrap: NEEDS_SCOPE,
    },
  },
  {
    without: "a cap on output, in the box and outside of it",
    through: ["endless-output"],
    only: ["endless-output"],
    config: { output_cap: 65_536 },
    edits: both(
      { file: "runner/sandbox-runtime.ts", from: "output_cap: outputCap, fetch", to: "output_cap: 1048576, fetch" },
      { file: "runner/box-process.ts", from: "if (bytes.length <= limit)", to: "if (true)" },
    ),
  },
  {
    without: "a time limit",
    through: ["ignored-signals", "kept-pipes"],
    only: ["ignored-signals", "kept-pipes"],
    edits: both({ file: "runner/box-process.ts", from: "box.after(limitMs, ()", to: "box.after(600_000, ()" }),
  },
];

/** Of the defences of {@link ONE_BOX}, those that can be taken away together: each of their attacks gets through, whatever box it's on. */
export const TOGETHER: readonly Sabotage[] = SABOTAGES.filter(({ through }) =>
  through.some((name) => ["credentials", "denied-path", "git-hooks", "make-set-id", "tmp-fill"].includes(name)),
);
