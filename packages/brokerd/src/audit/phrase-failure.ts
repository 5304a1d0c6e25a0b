/** What a failed system call means to the owner. */
import { escapeText } from "@boxmaker/proto";

/** Whether it failed because the disk, or its user's share of it, is full. */
export function isOutOfSpace(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}

/** What failed, in a few printable words. */
export function phraseFailure(error: unknown): string {
  if (!(error instanceof Error)) return "an unknown error";
  if (!("code" in error) || typeof error.code !== "string") return escapeText(error.message);
  const syscall = "syscall" in error && typeof error.syscall === "string" ? error.syscall : "a system call";
  const failed = escapeText(`${syscall} failed with ${error.code}`);
  return isOutOfSpace(error) ? `no space is left (${failed})` : failed;
}
