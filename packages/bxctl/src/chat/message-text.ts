/** What can be sent as one message. */

/** Escaped six-fold it still fits a frame. */
export const MAX_TEXT_BYTES = 1024 * 1024;

/** Whether `text` says anything and fits. */
export function isSendable(text: string): boolean {
  return text.trim() !== "" && Buffer.byteLength(text) <= MAX_TEXT_BYTES;
}
