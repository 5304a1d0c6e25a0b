/** Ends an epoch with a summary and begins the next one with it. */
import type { EpochEnd, SessionRecord, TurnEvent } from "@boxmaker/proto";
import type { Session } from "../session/session.ts";
import { makeSummary, type SummaryContext } from "./make-summary.ts";
import type { FailedTurn } from "./turn-outcome.ts";

/** Begins epochs. */
export interface EpochPort {
  /**
   * Begins the epoch after one that has ended, with the core memory as it is now.
   *
   * @returns how the turn fails where the owner's files can't be read; the session stays as it was then
   * @throws {SessionError} `unwritable`
   */
  begin(session: Session): Promise<FailedTurn | undefined>;
}

/** Whether anything was said in these records that could be summed up. */
export function hasText(records: readonly SessionRecord[]): boolean {
  return records.some(({ kind }) => kind === "user" || kind === "assistant");
}

/** Begins the next epoch of a session and says so. */
export async function beginEpoch(
  epochs: EpochPort,
  session: Session,
  emit: (event: TurnEvent) => void,
): Promise<FailedTurn | undefined> {
  const failure = await epochs.begin(session);
  if (failure === undefined) emit({ event: "epoch", number: session.start.epoch });
  return failure;
}

/** The summary's cost and that it is there, or why it isn't: then nothing has changed, unless only the beginning failed. */
export type EpochChange = { readonly kind: "changed"; readonly end: EpochEnd } | FailedTurn;

/**
 * Has the conversation summed up, records that, and begins the next epoch. The record is what counts: from then on the session goes on
 * with the summary, now or when it is opened again.
 *
 * @throws {SessionError} `unwritable`
 */
export async function changeEpoch(context: SummaryContext, epochs: EpochPort, carry: EpochEnd["carry"]): Promise<EpochChange> {
  const result = await makeSummary(context, carry);
  if (result.kind === "failed") return result;
  await context.session.append(result.end);
  return (await beginEpoch(epochs, context.session, context.emit)) ?? { kind: "changed", end: result.end };
}
