/** brokerd with defences taken out of it: `sabotaged-program.ts EDITS ARGUMENT…`. Each edit's text must be in its file. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Edit } from "./edit.ts";

const SOURCES = join(import.meta.dirname, "..", "..", "src");
const [text] = process.argv.splice(2, 1);
const edits = Edit.array().parse(JSON.parse(text ?? ""));

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const ours = edits.filter(({ file }) => url === pathToFileURL(join(SOURCES, file)).href);
    if (ours.length === 0) return loaded;
    let source = readFileSync(fileURLToPath(url), "utf8");
    for (const { file, from, to } of ours) {
      if (!source.includes(from)) throw new Error(`expected ${JSON.stringify(from)} in ${file}`);
      source = source.replaceAll(from, () => to);
    }
    return { ...loaded, source };
  },
});
await import(join(SOURCES, "main.ts"));
