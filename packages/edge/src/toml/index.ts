export { parseToml, type TomlParsed, type TomlProblem } from "./parse-toml.ts";
export { readToml, type TomlPath, type TomlReading } from "./read-toml.ts";
