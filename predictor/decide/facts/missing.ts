import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Verdict } from "./verdict.ts";

/** Words for people have an end. */
const MOST_WORDS = 240;

/**
 * What is missing of the traffic that users' requests make, in words: of the services that they pass as far as those are
 * known, else of any. Undefined when nothing is. What was measured is true then, and a miss is one; rates are too low, calm
 * proves nothing, and what is compared with other windows is compared with more than there was.
 */
export function missingTraffic(
  { windows }: WindowSet,
  { flows }: Pick<Verdict, "flows">,
  namespace: string,
): string | undefined {
  const passed = new Set(flows.flatMap(({ flow }) => [flow.entryService, ...flow.services]));
  const parts = windows
    .filter((window) => window.namespace === namespace && (flows.length === 0 || passed.has(window.service)))
    .flatMap(({ missing }) => (missing === undefined ? [] : [missing]));
  return parts.length === 0 ? undefined : [...new Set(parts)].join("; ").slice(0, MOST_WORDS);
}
