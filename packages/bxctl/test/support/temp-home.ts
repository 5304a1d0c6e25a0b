import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempHome extends AsyncDisposable {
  readonly path: string;
  readonly loop: string;
  readonly admin: string;
}

/** A home that is removed when its scope ends. */
export async function tempHome(): Promise<TempHome> {
  const path = await mkdtemp(join(tmpdir(), "bxctl-"));
  return {
    path,
    loop: join(path, "run/loop/loop.sock"),
    admin: join(path, "run/admin/admin.sock"),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
