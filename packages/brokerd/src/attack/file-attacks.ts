/** Attacks of a command on the files of the host. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import type { AbsPath } from "@boxmaker/proto";
import { type FiringRange, SECRET_PATTERN } from "./firing-range.ts";
import { NODE, type Probe, type Readable, tells } from "./one-box.ts";
import type { AttackGrant } from "./target.ts";

const READ = "its text came out";
const NOT_READ = "its text didn't come out";
const SET_ID_BITS = 0o6000;
/** A user that isn't brokerd's. */
const OTHER_USER = 65_534;
/** The /tmp of a box has 64 MiB. */
const SCRATCH_KIB = 64 * 1024;

/** The bait's place, by what is granted of it. */
export interface Bait {
  readonly given: AbsPath;
  /** What a command there may read. */
  readonly readable: Readable;
  readonly grants: readonly AttackGrant[];
}

/** Makes the folder that every command of the attacks is granted. */
export function makeBait(range: FiringRange): Bait {
  const given = range.folder("given");
  const denied = range.folder("given/denied");
  return {
    given,
    readable: { path: range.at("given/readable"), secret: range.bait("given/readable") },
    grants: [
      { tool: "shell", mode: "auto", constraints: { paths: [given] } },
      // Of another tool, so that it doesn't deny the command; what it names is hidden from it all the same.
      { tool: "read_file", mode: "deny", constraints: { paths: [denied] } },
    ],
  };
}

/** Those that read what they may not. */
export function readProbes(range: FiringRange, { given }: Bait): readonly Probe[] {
  const outside = range.bait("outside/secret");
  const roots = range.bait("roots/secret");
  const hostProcess = range.nameProcess();
  const linked = range.bait("linked/secret");
  symlinkSync(range.at("linked/secret"), range.at("given/link"));
  symlinkSync(range.at("linked"), range.at("given/links"));
  const passwords = range.bait("given/project/.env");
  const key = range.bait("given/project/.ssh/id_ed25519");
  const denied = range.bait("given/denied/secret");
  return [
    {
      attack: "outside-paths",
      script: `cat ${range.at("outside/secret")} ${given}/../outside/secret; cd ${given} && cat ../outside/secret`,
      judge: tells(outside, READ),
      seen: NOT_READ,
    },
    {
      attack: "proc-root",
      script: `for at in /proc/self/root /proc/self/cwd /proc/1/root /proc/1/cwd /proc/[0-9]*/root; do cat $at${range.at("roots/secret")}; done
cat /proc/[0-9]*/cmdline | grep -ao '${SECRET_PATTERN}'`,
      judge: (said) =>
        tells(roots, READ)(said) ?? tells(hostProcess, "a process of the host could be seen, with its command line")(said),
      seen: "its text didn't come out, and no process of the host was seen",
    },
    {
      attack: "symbolic-links",
      script: `cd ${given} && cat link links/secret; ln -s ${range.at("linked/secret")} made; cat made; cp -L made copied; cat copied`,
      judge: tells(linked, READ),
      seen: NOT_READ,
    },
    {
      attack: "credentials",
      script: `cd ${given}/project && cat .env .ssh/id_ed25519; mv .env env; mv .ssh ssh; cat env ssh/id_ed25519`,
      judge: (said) => tells(passwords, `${READ}: .env`)(said) ?? tells(key, `${READ}: .ssh`)(said),
      seen: NOT_READ,
    },
    {
      attack: "denied-path",
      script: `cd ${given} && cat denied/secret; mv denied allowed; cat allowed/secret`,
      judge: tells(denied, READ),
      seen: NOT_READ,
    },
  ];
}

/** Places of a box that nothing may be written to. Opened for writing only: what they hold stays as it is. */
const READ_ONLY_FOLDERS = ["", "/usr", "/etc", "/opt/boxmaker", "/run", "/var", "/dev"];
const READ_ONLY_FILES = [
  "/opt/boxmaker/toolkit.mjs",
  "/opt/boxmaker/node",
  "/usr/bin/env",
  "/proc/sys/kernel/core_pattern",
  "/proc/sysrq-trigger",
];

/** Those that write what they may not. */
export function writeProbes(range: FiringRange, { given }: Bait): readonly Probe[] {
  const wrote = range.secret();
  return [
    {
      attack: "read-only-places",
      script: `for at in ${READ_ONLY_FOLDERS.map((folder) => `${folder}/${wrote}`).join(" ")}; do (: > $at) && rm -f $at && echo "wrote $at"; done
for at in ${READ_ONLY_FILES.join(" ")}; do [ -e $at ] && (: >> $at) && echo "wrote ${wrote}: $at"; done`,
      // The names of files are in the shell's own errors, too.
      judge: (said) =>
        said
          .split("\n")
          .find((line) => line.startsWith("wrote ") && line.includes(wrote))
          ?.replaceAll(wrote, "…"),
      seen: "nothing could be opened for writing",
    },
    hooksProbe(range, given),
    {
      attack: "make-set-id",
      script: `cd ${given} && mkdir -p made-set-id && cd made-set-id && for mode in 4755 2755; do : > file$mode; chmod $mode file$mode; mkdir -m $mode folder$mode; done
${NODE} -e 'const fs = require("fs"); for (const [name, mode] of [["a", 0o4755], ["b", 0o2755]]) { try { fs.closeSync(fs.openSync(name, "w", mode)); } catch {} try { fs.chmodSync(name, mode); } catch {} try { fs.fchmodSync(fs.openSync(name, "w"), mode); } catch {} }'`,
      judge: () => {
        const folder = range.at("given/made-set-id");
        const made = namesIn(folder).find((name) => (lstatSync(`${folder}/${name}`).mode & SET_ID_BITS) !== 0);
        return made === undefined ? undefined : `${made} has a set-id mode`;
      },
      seen: "no file has such a mode",
    },
  ];
}

function namesIn(folder: AbsPath): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The command couldn't even make it.
    return [];
  }
}

/** Twice what /tmp should take, in files that no limit on one file's size stops. */
export function scratchProbe(range: FiringRange): Probe {
  const filled = range.at("given/filled");
  return {
    attack: "tmp-fill",
    script: `i=0; while [ $i -lt 13 ]; do head -c 10485760 /dev/zero > /tmp/fill$i; i=$((i+1)); done; du -sk /tmp > ${filled}; rm -f /tmp/fill*`,
    judge: () => {
      const kib = existsSync(filled) ? Number.parseInt(readFileSync(filled, "utf8"), 10) : Number.NaN;
      return kib <= SCRATCH_KIB ? undefined : `it took ${Number.isNaN(kib) ? "nobody knows how many" : kib} KiB`;
    },
    seen: `it took no more than ${SCRATCH_KIB} KiB`,
  };
}

function hooksProbe(range: FiringRange, given: AbsPath): Probe {
  range.folder("given/repository/.git/hooks");
  const hook = range.bait("given/repository/.git/hooks/pre-commit");
  const settings = range.bait("given/repository/.git/config");
  const hooks = range.at("given/repository/.git/hooks");
  const { ino } = statSync(hooks);
  return {
    attack: "git-hooks",
    script: `cd ${given}/repository && echo changed >> .git/hooks/pre-commit; : > .git/hooks/made; echo changed >> .git/config
ln .git/hooks/pre-commit ../linked-hook && echo changed >> ../linked-hook
mv .git/hooks .git/old; mkdir .git/hooks; mv .git old; mkdir -p .git/hooks`,
    judge: () => {
      try {
        if (statSync(hooks).ino !== ino || readdirSync(hooks).length !== 1) return "the folder of hooks was changed";
        if (readFileSync(`${hooks}/pre-commit`, "utf8") !== `${hook}\n`) return "the hook was changed";
        return readFileSync(range.at("given/repository/.git/config"), "utf8") === `${settings}\n`
          ? undefined
          : "git's config was changed";
      } catch {
        // Not where it was.
        return "the folder of hooks is gone";
      }
    },
    seen: "the hook, git's config and their folder are unchanged",
  };
}

/** Why a set-id program of another user can't be made here, or the attack that runs one. */
export function setIdProbe(range: FiringRange, { given }: Bait): Probe | string {
  if (process.getuid?.() !== 0) return "only root can make a program of another user";
  const secret = range.bait("given/of-other/secret");
  // The other user has to get as far as the secret, from the folder that it is run in.
  chmodSync(range.at("given/of-other"), 0o755);
  chownSync(range.at("given/of-other/secret"), OTHER_USER, OTHER_USER);
  chmodSync(range.at("given/of-other/secret"), 0o400);
  const program = range.at("given/of-other/cat");
  copyFileSync("/usr/bin/cat", program);
  chownSync(program, OTHER_USER, OTHER_USER);
  chmodSync(program, 0o4755);
  return {
    attack: "run-set-id",
    script: `cd ${given}/of-other && ./cat secret; /lib64/ld-linux-x86-64.so.2 ./cat secret`,
    judge: tells(secret, "it ran with the other user's rights"),
    seen: "it got no other user's rights",
  };
}
