/** Is the newest checkpoint beside a log still true of it? Cheap, because the chain stands for all records before the last one signed. */
import { type NewestReading, readLineAt } from "@boxmaker/edge/audit-files";
import { type LogFile, unreachable } from "@boxmaker/proto";
import { openStored } from "@boxmaker/proto/transparency";

/** `covered`: the last record that was signed is where it was. `unknown`: there is no checkpoint, or it takes a whole reading to say. */
export type NewestComparison =
  | { readonly kind: "covered"; readonly size: number }
  | { readonly kind: "unknown" }
  | { readonly kind: "damaged"; readonly problem: string }
  | { readonly kind: "differs"; readonly size: number };

/** @param newest as it was read before the files were listed, so that a log that is being written has its records already */
export async function compareNewest(
  directory: string,
  files: readonly LogFile[],
  newest: NewestReading,
): Promise<NewestComparison> {
  switch (newest.kind) {
    case "none":
      return { kind: "unknown" };
    case "damaged":
      return newest;
    case "newest": {
      const { kept, checkpoint } = newest.newest;
      if (kept === undefined) return { kind: "unknown" };
      const { size } = checkpoint;
      const file = files.find(({ name }) => name === kept.last.file);
      const line = file === undefined ? undefined : await readLineAt(directory, file, kept.last.offset, kept.last.bytes);
      return line !== undefined && openStored(kept, line) !== undefined ? { kind: "covered", size } : { kind: "differs", size };
    }
    default:
      return unreachable(newest);
  }
}
