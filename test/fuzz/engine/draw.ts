import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** A whole number in [0, below). */
export const below = (rng: Rng, limit: number): number => Math.floor(rng() * limit);

/** A whole number in [low, high]. */
export const between = (rng: Rng, low: number, high: number): number => low + below(rng, high - low + 1);

export const oneIn = (rng: Rng, count: number): boolean => rng() * count < 1;

export function pick<Item>(rng: Rng, items: readonly Item[]): Item {
  const item = items[below(rng, items.length)];
  if (item === undefined && items.length === 0) throw new RangeError("nothing to pick from");
  return item as Item;
}

/** 1 with probability one half, 2 with a quarter and so on, at most `most`. */
export function fewTimes(rng: Rng, most: number): number {
  let times = 1;
  while (times < most && rng() < 0.5) times += 1;
  return times;
}

/** The generator of one case: equal arguments give equal cases, whatever ran before. */
export function caseRng(seed: number, target: string, number: number): Rng {
  let hash = seed | 0;
  for (let at = 0; at < target.length; at += 1) hash = Math.imul(hash ^ target.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ number, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return seededRng(hash ^ (hash >>> 16));
}
