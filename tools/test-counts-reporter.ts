/** A reporter for `node --test` that writes nothing but the counts of the whole run, as JSON. */
import type { TestEvent } from "node:test/reporters";

async function* reportCounts(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    // With process isolation each file has a summary of its own, which names the file.
    if (event.type === "test:summary" && event.data.file === undefined) yield JSON.stringify(event.data.counts);
  }
}

// `node --test-reporter` takes the default export.
export default reportCounts;
