/** The texts that a log names by hash, as what is decided again from it needs them. */
import type { LogSources } from "@boxmaker/policy/analysis";
import { setFromTexts } from "@boxmaker/policy/grants";
import type { RecordedLog } from "./read-records.ts";

/** Texts as they were kept when they were in force. */
export function logSources(log: RecordedLog): LogSources {
  return {
    textOf: (hash) => log.kept("blobs", hash),
    setOf: (files, reserved) => {
      const texts = files.flatMap(({ file, sha256 }) => {
        const text = log.kept("grants", sha256);
        return text === undefined ? [] : [{ file, text }];
      });
      return texts.length === files.length ? setFromTexts(texts, reserved) : undefined;
    },
  };
}
