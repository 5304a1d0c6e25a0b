/** Attacks by calls of the file tools, and on what is between a decision and its start. */
import { linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import type { AbsPath } from "@boxmaker/proto";
import { failed, held, type Verdict } from "./finding.ts";
import type { FiringRange } from "./firing-range.ts";
import { type AttackGrant, aim, fire, phraseShot, type Target } from "./target.ts";

function grantOf(tool: AttackGrant["tool"], path: AbsPath): AttackGrant {
  return { tool, mode: "auto", constraints: { paths: [path] } };
}

/** read_file on links that lead out. */
export async function readLinks(target: Target, range: FiringRange): Promise<Verdict> {
  const folder = range.folder("read");
  const secret = range.bait("unread/secret");
  symlinkSync(range.at("unread/secret"), `${folder}/link`);
  symlinkSync(range.at("unread"), `${folder}/links`);
  for (const name of ["link", "links/secret"]) {
    const aimed = aim(target, {
      tool: "read_file",
      arguments: { path: `${folder}/${name}` },
      grants: [grantOf("read_file", folder)],
    });
    if (aimed.kind === "refused") return failed("read-links", `it couldn't be tried: ${aimed.reason}`);
    const shot = await fire(target, aimed, target.config.read_file_ms);
    if (shot.kind === "done" && shot.content.includes(secret)) return failed("read-links", "the file's text came out");
    if (shot.kind !== "done") return failed("read-links", `it couldn't be tried: ${phraseShot(shot)}`);
  }
  return held("read-links", "its text didn't come out");
}

/** write_file on a name of a file that has another name outside. */
export async function hardLinks(target: Target, range: FiringRange): Promise<Verdict> {
  const folder = range.folder("written");
  const secret = range.bait("unwritten/file");
  linkSync(range.at("unwritten/file"), `${folder}/file`);
  const path = `${folder}/file`;
  const aimed = aim(target, {
    tool: "write_file",
    arguments: { path, content: "changed" },
    grants: [grantOf("write_file", folder)],
  });
  if (aimed.kind === "refused") return failed("hard-links", `it couldn't be tried: ${aimed.reason}`);
  const shot = await fire(target, aimed, target.config.write_file_ms);
  if (readFileSync(range.at("unwritten/file"), "utf8") !== `${secret}\n`)
    return failed("hard-links", "the file outside was changed");
  const isWritten = readFileSync(path, "utf8") === "changed";
  return isWritten
    ? held("hard-links", "the file outside is unchanged, the granted one was replaced")
    : failed("hard-links", `it couldn't be tried: ${phraseShot(shot)}`);
}

/** A granted folder that becomes another one once the call is decided: replaced by a folder, and by a link. */
export async function swappedMount(target: Target, range: FiringRange): Promise<Verdict> {
  const isShell = target.runtime.name !== "process";
  for (const [index, swap] of [renameSync, symlinkSync].entries()) {
    const folder = range.folder(`swapped-${index}/granted`);
    writeFileSync(`${folder}/secret`, "granted\n");
    const other = range.at(`swapped-${index}/other`);
    mkdirSync(other);
    const secret = range.bait(`swapped-${index}/other/secret`);
    const path = `${folder}/secret`;
    const tool = isShell ? "shell" : "read_file";
    const values = isShell ? { command: `cat ${path}` } : { path };
    const aimed = aim(target, { tool, arguments: values, grants: [grantOf(tool, folder)] });
    if (aimed.kind === "refused") return failed("swapped-mount", `it couldn't be tried: ${aimed.reason}`);
    // Where boxes wait, the swap is behind the start of one.
    await target.waiting?.prepare(aimed.warmUp, target.config[`${tool}_ms`]);
    renameSync(folder, `${folder}-old`);
    swap(other, folder);
    const shot = await fire(target, aimed, target.config[`${tool}_ms`]);
    if (shot.kind === "done" && shot.content.includes(secret)) return failed("swapped-mount", "the other folder was read");
    if (shot.kind !== "error" || shot.code !== "mount_changed") return failed("swapped-mount", phraseShot(shot));
  }
  return held("swapped-mount", "the call was refused, because its folder is another one");
}
