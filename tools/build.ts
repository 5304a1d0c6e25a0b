/** `npm run build`: compiles every package into build/NAME/. */
import { buildPackages } from "./workspace/build-packages.ts";

const built = buildPackages();
process.stdout.write(`build: ${built.map(({ folder }) => `build/${folder}`).join(" ")}\n`);
