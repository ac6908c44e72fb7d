import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Gap } from "./accounts.ts";
import type { LinkState } from "./link.ts";

/** Spans of one peer that did not come; times are monotonic, ms. */
export interface MissingSpans {
  /** Its address, as far as that is known. */
  readonly peer: string;
  /** Everything that it received since then, and why. */
  readonly sinceMs?: number | undefined;
  readonly why?: string;
  /** Or what it received in some time that is over. */
  readonly gap?: Gap;
}

const MOST_PARTS = 8;

/** Why nothing comes from a predictor that was heard, by what the last attempt to reach it said. */
export const WHY_SILENT: Readonly<Record<LinkState, string>> = {
  new: "it is silent",
  reached: "it takes spans and sends nothing",
  refused: "it refuses connections",
  unreachable: "it cannot be reached",
  stranger: "what answers there does not know the secret",
  self: "it is silent",
};
/** The same of one that was never heard. */
export const WHY_UNHEARD: Readonly<Record<LinkState, string>> = {
  ...WHY_SILENT,
  new: "it was not reached yet",
  reached: "it takes spans and sends nothing; are its --peers set?",
  refused: "connections are refused although the name lists it; does a network policy refuse them?",
};

/** One sentence for each part, the times in UTC. */
export function missingWords(parts: readonly MissingSpans[], clock: Clock): readonly string[] {
  const wallMs = clock.nowMs() - clock.monotonicMs();
  const at = (ms: number): string => `${new Date(wallMs + ms).toISOString().slice(11, 19)}Z`;
  const sentences = parts.map(({ gap, peer, sinceMs, why }) => {
    if (gap === undefined) return `spans that ${peer} received since ${at(sinceMs ?? 0)} are missing: ${why}`;
    if (gap.fromMs === -Infinity) return `spans that ${peer} received until ${at(gap.toMs)} are missing`;
    const what = `spans that ${peer} received from ${at(gap.fromMs)} to ${at(gap.toMs)} are missing`;
    return `${what}: ${gap.batches === undefined ? "it ended then" : `${gap.batches} batches were lost`}`;
  });
  return [...new Set(sentences)].slice(0, MOST_PARTS);
}
