import { MOST_PRECEDENTS } from "@tradewind/core/contract/incident.ts";
import type { PastIncident, Precedents } from "@tradewind/core/contract/incident.ts";
import { z } from "zod";
import type { Sketch } from "./sketch.ts";

/** Beyond so many spreads a signal is as unusual as can be. */
const FULL_Z = 10;
/** Signals of one incident that are kept, the most unusual. */
const MOST_SIGNS = 64;
/** An incident less alike says nothing. */
const LEAST_SIMILARITY = 0.8;
/** Precedents lie this far apart: one that came back within it is one. */
const APART_MS = 2 * 3_600_000;

/** What is unusual: by `service signal`, in [-1, 1], spreads off over {@link FULL_Z}. */
export const Signs = z.record(z.string().max(300), z.number().min(-1).max(1));
export type Signs = z.infer<typeof Signs>;

/** The unusual signals of a sketch, those of the load aside: the same trouble comes at any load. */
export function signsOf({ services }: Pick<Sketch, "services">): Signs {
  const signs = services.flatMap(({ name, signals }) =>
    signals
      .filter(({ bin, signal }) => bin !== "medium" && signal !== "requestRate")
      .map(({ bin, signal, z: spreads }) => {
        // High by its absolute band alone: as unusual as what is just seen.
        const size = spreads === 0 && bin === "high" ? 2 : spreads;
        return [`${name} ${signal}`, Math.max(-1, Math.min(1, size / FULL_Z))] as const;
      }),
  );
  return Object.fromEntries(signs.toSorted(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, MOST_SIGNS));
}

/** Half of one and the cosine, in [0, 1]; 0 where one of them shows nothing. */
export function similarity(a: Signs, b: Signs): number {
  const length = (signs: Signs): number => Math.sqrt(Object.values(signs).reduce((sum, x) => sum + x * x, 0));
  const both = length(a) * length(b);
  if (!(both > 0)) return 0;
  const product = Object.entries(a).reduce((sum, [sign, value]) => sum + value * (b[sign] ?? 0), 0);
  return Math.min(1, (1 + product / both) / 2);
}

/** The nearest past incidents, most alike first. @param beforeMs incidents that ended later are the present one */
export function nearest(
  incidents: readonly (PastIncident & { readonly signs: Signs })[],
  signs: Signs,
  beforeMs: number,
): Precedents {
  const past = incidents.filter(({ endMs }) => endMs < beforeMs);
  const found: Precedents["nearest"] = [];
  const alike = past
    .map(({ signs: then, ...incident }) => ({ ...incident, similarity: similarity(signs, then) }))
    .filter((each) => each.similarity >= LEAST_SIMILARITY)
    .toSorted((a, b) => b.similarity - a.similarity || b.onsetMs - a.onsetMs);
  for (const each of alike) {
    if (found.length === MOST_PRECEDENTS) break;
    if (found.every(({ onsetMs }) => Math.abs(onsetMs - each.onsetMs) >= APART_MS)) found.push(each);
  }
  return { known: past.length, nearest: found };
}
