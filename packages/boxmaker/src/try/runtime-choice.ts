/** The ways to run tools, from the best to the least, with what each needs to be tried. */
import type { RuntimeName } from "@boxmaker/proto";
import { tomlString } from "../home/toml-text.ts";
import { findImage } from "../image/find-image.ts";

/** One runtime as brokerd's configuration says it. `why` is what the owner is told when it is chosen. */
export interface RuntimeChoice {
  readonly runtime: RuntimeName;
  readonly toml: string;
  readonly why: string;
}

/** A runtime that isn't tried, and why. */
export interface RuntimeSkipped {
  readonly runtime: RuntimeName;
  readonly why: string;
}

/** What to try, best first, and what is out of the question. */
export interface RuntimeChoices {
  readonly choices: readonly RuntimeChoice[];
  readonly skipped: readonly RuntimeSkipped[];
}

const BUBBLEWRAP: RuntimeChoice = {
  runtime: "bubblewrap",
  toml: 'runtime = "bubblewrap"\nlimits = "unenforced"\n',
  why: "each tool runs in a sandbox of namespaces; memory and process limits are not enforced",
};

const PROCESS: RuntimeChoice = {
  runtime: "process",
  toml: 'runtime = "process"\n',
  why: "file tools only, without a sandbox: install bubblewrap or podman for the shell",
};

/**
 * What to try, best first. brokerd has the last word: a runtime that it refuses at start is passed over.
 *
 * @param wanted only this one, where the owner named it
 */
export async function runtimeChoices(wanted: RuntimeName | undefined): Promise<RuntimeChoices> {
  const choices: RuntimeChoice[] = [];
  const skipped: RuntimeSkipped[] = [];
  if (wanted === undefined || wanted === "podman") {
    const image = await findImage();
    if (image === undefined) {
      skipped.push({
        runtime: "podman",
        why: "there is no tools image: install podman and mmdebstrap and run `boxmaker image build`",
      });
    } else {
      const toml = `runtime = "podman"\nimage = ${tomlString(image)}\n`;
      choices.push({ runtime: "podman", toml, why: "each tool runs in a throw-away container" });
    }
  }
  choices.push(...[BUBBLEWRAP, PROCESS].filter(({ runtime }) => wanted === undefined || wanted === runtime));
  return { choices, skipped };
}
