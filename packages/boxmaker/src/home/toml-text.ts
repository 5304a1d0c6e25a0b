/** Writes TOML strings. */

/** `text` as a TOML basic string (TOML 1.0): quotes, backslashes and control characters escaped. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
