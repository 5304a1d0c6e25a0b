/** A daemon's log: one line per event, which nothing inside a value can forge. */
import { escapeText, quoteText } from "@boxmaker/proto";

/** What a value of a log line may be. Strings are quoted and escaped unless they are plain words. */
export type LogValue = string | number | boolean | null;
export type LogFields = Readonly<Record<string, LogValue>>;

/** Writes lines `time level event key=value…`. Must not throw. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

const MAX_VALUE = 2000;
const PLAIN = /^[A-Za-z0-9_.:/@+-]+$/u;

function spell(value: LogValue): string {
  if (typeof value !== "string") return String(value);
  if (PLAIN.test(value) && value.length <= MAX_VALUE) return value;
  const cut = value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
  return quoteText(cut);
}

/**
 * A log that hands each line, newline included, to `write`.
 *
 * @param now milliseconds since 1970-01-01T00:00:00Z
 */
export function openLog(write: (line: string) => void, now: () => number): Log {
  const line = (level: string, event: string, fields: LogFields): void => {
    const parts = Object.entries(fields).map(([key, value]) => ` ${escapeText(key)}=${spell(value)}`);
    write(`${new Date(now()).toISOString()} ${level} ${escapeText(event)}${parts.join("")}\n`);
  };
  return {
    info: (event, fields = {}) => line("info", event, fields),
    warn: (event, fields = {}) => line("warn", event, fields),
    error: (event, fields = {}) => line("error", event, fields),
  };
}
