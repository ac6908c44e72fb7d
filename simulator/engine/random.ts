/**
 * Numbers drawn by name instead of in order: each is a hash of the seed and of what it is for. So the demand of a request does
 * not depend on what was drawn before it, and two policies meet the same requests.
 */

/** Mixes 32 bits: every bit of the result depends on every bit of `value` (C. Wellons' lowbias32, a bijection). */
export function mix(value: number): number {
  let x = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return x ^ (x >>> 15);
}

/** A number for one purpose, from the number of what it belongs to. */
export function derive(key: number, purpose: number): number {
  return mix(key ^ Math.imul(purpose + 1, 0x9e3779b1));
}

/** Uniform in (0, 1), never 0 or 1. */
export function uniformOf(hash: number): number {
  return ((hash >>> 0) + 0.5) * 2 ** -32;
}

/** 32 bits of a text (FNV-1a over UTF-16 code units, mixed). */
export function textKey(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix(hash);
}

const A = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716,
  2.506628277459239,
] as const;
const B = [
  -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572,
] as const;
const C = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
] as const;
const D = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416] as const;
const TAIL = 0.02425;

/** Quantile of the standard normal distribution for a share in (0, 1), relative error below 1.2e-9 (P. J. Acklam, 2003). */
export function normalQuantile(share: number): number {
  if (share < TAIL) return tailQuantile(share);
  if (share > 1 - TAIL) return -tailQuantile(1 - share);
  const q = share - 0.5;
  const r = q * q;
  const numerator = (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q;
  return numerator / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1);
}

function tailQuantile(share: number): number {
  const q = Math.sqrt(-2 * Math.log(share));
  const numerator = ((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5];
  return numerator / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1);
}
