/** Ends the process at the first test that fails: a mutant needs to be noticed only once. For `node --test --test-isolation=none`. */
import type { TestEvent } from "node:test/reporters";

async function* stopAtFirstFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const { type, data } of events) {
    if (type !== "test:fail") continue;
    yield `${data.name}\n`;
    process.exit(1);
  }
}

// `node --test-reporter` takes the default export.
export default stopAtFirstFailure;
