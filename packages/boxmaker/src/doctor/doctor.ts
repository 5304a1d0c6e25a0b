/** `boxmaker doctor`: whether all that a box needs is there, and with `--attack`, whether its sandbox holds. */
import { join, resolve } from "node:path";
import { layoutOf } from "../home/layout.ts";
import { attackProgram, attackSandbox } from "./attack-checks.ts";
import { checkAudit, checkModel, checkNode, checkRuntime, checkSocket, checkToolsImage, readPlaces } from "./box-checks.ts";
import { type Check, showCheck } from "./check.ts";

export interface DoctorOptions {
  /** brokerd's configuration; else the one in the home. */
  readonly config: string | undefined;
  readonly home: string;
  readonly attack: boolean;
  readonly json: boolean;
  readonly stop: AbortSignal;
  readonly write: (text: string) => void;
}

/** Prints one line a check as soon as it is done. @returns the exit status: 0 only where none failed */
export async function doctor({ config, home, attack, json, stop, write }: DoctorOptions): Promise<0 | 1> {
  let failures = 0;
  let skips = 0;
  const show = (check: Check): void => {
    if (check.result === "failed") failures++;
    if (check.result === "skipped") skips++;
    write(showCheck(check, json));
  };
  const layout = layoutOf(home);
  const inHome = layout.kind === "ok" ? layout.layout.config.brokerd : join(resolve(home), "etc/brokerd.toml");
  const file = config === undefined ? inHome : resolve(config);
  if (attack) await attackSandbox(attackProgram(file, []), stop, show);
  else await checkBox(file, stop, show);
  if (!json) write(failures === 0 ? `nothing failed, ${skips} skipped\n` : `${failures} failed, ${skips} skipped\n`);
  return failures === 0 && !stop.aborted ? 0 : 1;
}

async function checkBox(file: string, stop: AbortSignal, show: (check: Check) => void): Promise<void> {
  show(checkNode());
  const { check, places } = await readPlaces(file);
  show(check);
  if (places !== undefined) {
    show(await checkRuntime(file, places, stop));
    show(await checkToolsImage(places));
    for (const socket of places.sockets) show(await checkSocket(socket));
    show(await checkAudit(places, stop));
  }
  show(await checkModel());
}
