/** Gives a client one last answer before its connection is closed, so that it learns why. */
import type { Socket } from "node:net";
import type { Clock } from "@boxmaker/edge/log";
import { startDeadline } from "../deadline.ts";

/** How long a client may take to ask, to read the answer and to end, in milliseconds. */
export const ANSWER_MS = 2_000;

/**
 * Calls `then` once: when the client has had `answer` and is gone, or after {@link ANSWER_MS}.
 *
 * Nothing is said to a client that hasn't asked yet: an answer that comes before its question is taken for a fault. What it
 * goes on sending is read and dropped, because closing on unread bytes would cost it the answer.
 */
export function answerThen(client: Socket, answer: Buffer, clock: Clock, then: () => void): void {
  let called = false;
  let answered = false;
  const once = (): void => {
    if (called) return;
    called = true;
    deadline[Symbol.dispose]();
    then();
  };
  const tell = (): void => {
    if (answered || client.destroyed || client.writableEnded) return;
    answered = true;
    client.end(answer);
  };
  const deadline = startDeadline(clock, ANSWER_MS, once);
  client.once("close", once);
  if (client.destroyed) {
    once();
    return;
  }
  if (client.bytesRead > 0) tell();
  client.on("data", tell);
  client.once("end", () => {
    // A client that asked nothing isn't waiting for an answer.
    if (!answered) once();
  });
  if (client.readableEnded && !answered) once();
  client.resume();
}
