/** What the commands about grants have in common: where they read and write, and how they end. */
import { systemClock } from "@boxmaker/edge/log";
import { type Timestamp, timestampFromMillis } from "@boxmaker/proto";
import type { Places } from "../box/places.ts";
import type { ExitStatus } from "../process-io.ts";
import type { Screen } from "../terminal/screen.ts";

export interface GrantsCommand {
  readonly places: Places;
  readonly out: Screen;
  readonly err: Screen;
  readonly json: boolean;
}

/** A command ends with this; what is to be said has been said. */
export interface Ended {
  readonly kind: "ended";
  readonly status: ExitStatus;
}

/** Says one line, and how the command ends. */
export function end({ err }: Pick<GrantsCommand, "err">, status: ExitStatus, problem: string): Ended {
  err.line(`bxctl: ${problem}`);
  return { kind: "ended", status };
}

/** The time that grants are judged at. */
export function presentTime(): Timestamp {
  return timestampFromMillis(systemClock.now());
}
