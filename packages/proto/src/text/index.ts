/** Entry `@boxmaker/proto/text`: escaping alone, for a program that has to say a line before it knows any shape. */
export { escapeText } from "./escape-text.ts";
