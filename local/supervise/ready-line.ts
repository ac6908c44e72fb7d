import { z } from "zod";

/** The one line that a process of Tradewind prints on standard output when it is ready. */
export const ReadyLine = z.strictObject({
  process: z.string(),
  ready: z.literal(true),
  addresses: z.record(z.string(), z.string()),
});
export type ReadyLine = z.infer<typeof ReadyLine>;

/** @returns undefined when the line is something else */
export function parseReadyLine(line: string): ReadyLine | undefined {
  try {
    const parsed = ReadyLine.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
