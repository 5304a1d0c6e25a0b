/** What one reader of a stream saw, between its process and the bench's. */
import { z } from "zod";

export const Reading = z
  .strictObject({
    /** From the sending of each event to where its text was in the reader's hands, in milliseconds. */
    latencies: z.array(z.number()).readonly(),
    /** From the first event to the last. */
    ms: z.number(),
    maxRssMb: z.number(),
  })
  .readonly();
export type Reading = z.infer<typeof Reading>;
