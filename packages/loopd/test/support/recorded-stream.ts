/** A reply as a llama-server streams it: thought, text beyond ASCII, two calls, usage and timings, the clean end. */
const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ finish_reason: null, index: 0, delta }], id: "c1", ...more })}\n\n`;

const call = (index: number, piece: object): string => chunk({ tool_calls: [{ index, ...piece }] });

/** The shortest that has everything a cut can fall into: thought, text beyond ASCII, a call, the clean end. */
export const SHORT_STREAM = [
  'data: {"choices":[{"delta":{"reasoning_content":"Hm"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":"ü🦀"}}]}\n\n',
  'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"clock","arguments":"{}"}}]}}]}\n\n',
  'data: {"choices":[{"finish_reason":"tool_calls","delta":{}}]}\n\n',
  "data: [DONE]\n\n",
].join("");

export const RECORDED_STREAM = [
  chunk({ role: "assistant", content: null }, { prompt_progress: { total: 8, cache: 0, processed: 8, time_ms: 3 } }),
  chunk({ role: "assistant", content: null }),
  ":\n\n",
  chunk({ reasoning_content: "Think" }),
  chunk({ content: "Grüße 🦀" }),
  call(0, { id: "a1", type: "function", function: { name: "read_file", arguments: "{" } }),
  call(0, { function: { arguments: '"path":"/n/ä"}' } }),
  call(1, { id: "a2", type: "function", function: { name: "clock" } }),
  call(1, { function: { arguments: "{}" } }),
  `data: ${JSON.stringify({ choices: [{ finish_reason: "tool_calls", index: 0, delta: {} }], id: "c1" })}\n\n`,
  `data: ${JSON.stringify({
    choices: [],
    id: "c1",
    usage: { completion_tokens: 9, prompt_tokens: 8, total_tokens: 17 },
    timings: { cache_n: 0, prompt_n: 8, predicted_n: 9, prompt_per_second: null, predicted_per_second: 12.5 },
  })}\n\n`,
  "data: [DONE]\n\n",
].join("");
