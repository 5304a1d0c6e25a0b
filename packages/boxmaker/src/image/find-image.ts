/** Looks for a tools image that was built earlier on this machine. */
import { runProgram } from "./host-program.ts";
import { imageName, TOOLKIT } from "./tools-image.ts";

const DEADLINE_MS = 20_000;

/**
 * The tools image with this toolkit in it, as `sha256:…`; undefined where there is none, or no podman.
 *
 * @param toolkit the bundled toolkit; default: the one in the source tree
 */
export async function findImage(toolkit: string = TOOLKIT): Promise<string | undefined> {
  let name: string;
  try {
    name = await imageName(toolkit);
  } catch {
    // Without a toolkit there can be no image with it.
    return undefined;
  }
  const inspected = await runProgram("podman", ["image", "inspect", "--format={{.Id}}", name], DEADLINE_MS);
  if (inspected.kind !== "ok") return undefined;
  const id = inspected.stdout.trim().replace(/^sha256:/u, "");
  return /^[0-9a-f]{64}$/u.test(id) ? `sha256:${id}` : undefined;
}
