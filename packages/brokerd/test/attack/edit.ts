/** How a defence is taken out of a program: a text of a source file, and what stands there instead. */
import { z } from "zod";

export const Edit = z.strictObject({ file: z.string(), from: z.string(), to: z.string() }).readonly();
export type Edit = z.infer<typeof Edit>;
