/** Logs that were damaged at random: bytes flipped, cut or zeroed, lines lost, doubled or cut, files lost or copied. */
import fc from "fast-check";
import { ACCEPTED_BREAKS } from "./accepted-breaks.ts";
import { decision, type LogBuilder, type LogFiles, soundLog, splitLines, started } from "./log-builder.ts";

/** One thing that happens to a log. `a` and `b` say where. */
type Mishap = (files: Map<string, Buffer>, name: string, a: number, b: number) => void;

function editLines(edit: (lines: Buffer[], a: number, b: number) => void): Mishap {
  return (files, name, a, b) => {
    const lines = splitLines(files.get(name) ?? Buffer.alloc(0));
    if (lines.length === 0) return;
    edit(lines, a % lines.length, b % lines.length);
    files.set(name, Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
  };
}

const MISHAPS: readonly Mishap[] = [
  (files, name, a, b) => {
    const bytes = Buffer.from(files.get(name) ?? "");
    if (bytes.length > 0) bytes.writeUInt8(bytes.readUInt8(a % bytes.length) ^ (1 + (b % 255)), a % bytes.length);
    files.set(name, bytes);
  },
  (files, name, a) => {
    const bytes = files.get(name) ?? Buffer.alloc(0);
    files.set(name, bytes.subarray(0, a % (bytes.length + 1)));
  },
  (files, name, a) => {
    const bytes = Buffer.from(files.get(name) ?? "");
    bytes
      .subarray(a % (bytes.length + 1))
      .subarray(0, 512)
      .fill(0);
    files.set(name, bytes);
  },
  editLines((lines, a) => lines.splice(a, 1)),
  editLines((lines, a, b) => lines.splice(a, 0, lines[b] ?? Buffer.alloc(0))),
  editLines((lines, a) => lines.splice(a, 0, Buffer.alloc(0))),
  editLines((lines, a) => lines.splice(a, 1, Buffer.from(lines[a]?.subarray(0, 40) ?? ""))),
  (files, name) => void files.delete(name),
  (files, name, a) => void files.set(`2026-01-0${1 + (a % 8)}.jsonl`, files.get(name) ?? Buffer.alloc(0)),
];

const mishaps = fc.array(fc.record({ mishap: fc.constantFrom(...MISHAPS), file: fc.nat(), a: fc.nat(), b: fc.nat() }), {
  minLength: 1,
  maxLength: 4,
});

/** A log that goes on behind an accepted break. */
function acceptedLog(): LogFiles {
  const found = ACCEPTED_BREAKS.find(({ name }) => name === "two accepted breaks");
  if (found === undefined) throw new Error("expected a log with two accepted breaks");
  return found.files;
}

function recoveredLog(): LogBuilder {
  const log = soundLog();
  const { offset } = log;
  return log.raw('{"seq":12,\n').add(log.recovery(offset, '{"seq":12,'), started(12), decision(9, "denied"));
}

/** Logs of some days that up to four mishaps have befallen. */
export const damaged: fc.Arbitrary<LogFiles> = fc
  .tuple(fc.constantFrom(soundLog().build(), recoveredLog().build(), acceptedLog()), mishaps)
  .map(([sound, list]) => {
    const files = new Map(sound);
    for (const { mishap, file, a, b } of list) {
      const names = [...files.keys()].sort();
      mishap(files, names[file % names.length] ?? "2026-01-05.jsonl", a, b);
    }
    return files;
  });
