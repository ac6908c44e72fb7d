import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";

/** Spread of the demand of single requests: standard deviation of its logarithm. */
const SIGMA = 0.5;

/** FNV-1a over UTF-16 code units, 32 bits. */
function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash | 0;
}

/**
 * CPU time that one request needs in one service, ms: log-normal with the given mean. It depends on the request's own
 * number and the service alone, so the same request costs the same whichever replica serves it and whatever policy runs.
 */
export function demandMillis(requestSeed: number, service: string, meanMillis: number): number {
  const normal = standardNormal(seededRng(requestSeed ^ textHash(service)));
  return meanMillis * Math.exp(SIGMA * normal - SIGMA ** 2 / 2);
}
