import type { Rng } from "@tradewind/core/values/rng.ts";
import { below, between, fewTimes, oneIn, pick } from "./draw.ts";

const MAX_BYTES = 64 * 1024;
const DEEPEST = 20_000;

/** Numbers that parsers trip over, as text. */
const HOSTILE_NUMBERS = [
  "0",
  "-0",
  "-1",
  "1e999",
  "-1e999",
  "1e-999",
  "NaN",
  "Infinity",
  "0x10",
  "1_000",
  "9007199254740993",
  "18446744073709551615",
  "18446744073709551616",
  "340282366920938463463374607431768211456",
  "9".repeat(400),
  "0.1",
  "1.",
  ".5",
  "+5",
  "٣",
  "",
].map((text) => Buffer.from(text));

/** Sequences that are no UTF-8, or look like something else. */
const HOSTILE_BYTES = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x80, 0xa8],
  [0xef, 0xbb, 0xbf],
  [0x00],
  [0x0d, 0x0a],
  [0x0a],
  [0x20],
  [0x09],
].map((bytes) => Buffer.from(bytes));

const LENGTH_LIES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const BRACKETS = ["[", "{", "(", '{"a":', "[[", "- "].map((text) => Buffer.from(text));

/** Draws byte strings: a valid one with a few things done to it. */
export class ByteMutator {
  private readonly seeds: readonly Buffer[];
  private readonly words: readonly Buffer[];
  private readonly maxBytes: number;

  /** @param words tokens of the format, put in anywhere */
  constructor(
    seeds: readonly (Uint8Array | string)[],
    words: readonly (Uint8Array | string)[] = [],
    maxBytes = MAX_BYTES,
  ) {
    this.seeds = seeds.map(asBuffer);
    this.words = words.map(asBuffer);
    this.maxBytes = maxBytes;
  }

  make(rng: Rng): Uint8Array {
    if (oneIn(rng, 256)) return randomBytes(rng, below(rng, 300));
    const seed = pick(rng, this.seeds);
    if (oneIn(rng, 64)) return Buffer.from(seed);
    return this.mutate(rng, seed);
  }

  /** The bytes with one to eight changes. */
  mutate(rng: Rng, bytes: Uint8Array): Uint8Array {
    let buffer = Buffer.from(bytes);
    for (let left = fewTimes(rng, 8); left > 0; left -= 1) buffer = this.change(rng, buffer);
    return buffer.length > this.maxBytes ? buffer.subarray(0, this.maxBytes) : buffer;
  }

  private change(rng: Rng, bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
    const at = below(rng, bytes.length + 1);
    const end = Math.min(bytes.length, at + between(rng, 1, 16));
    switch (below(rng, 16)) {
      case 0:
      case 1:
        return poke(bytes, at, (byte) => byte ^ (1 << below(rng, 8)));
      case 2:
        return poke(bytes, at, () => below(rng, 256));
      case 3:
        return replaced(bytes, at, end, Buffer.alloc(0));
      case 4:
        return bytes.subarray(0, at);
      case 5:
        return replaced(bytes, at, at, pick(rng, HOSTILE_BYTES));
      case 6:
        return replaced(bytes, at, at, randomBytes(rng, between(rng, 1, 8)));
      case 7:
        return repeated(bytes, at, end, between(rng, 1, oneIn(rng, 500) ? 2_000 : 4));
      case 8:
      case 9:
        return number(rng, bytes, at);
      case 10:
        return this.splice(rng, bytes, at);
      case 11:
        return lie(rng, bytes, at);
      case 12:
        return nest(rng, bytes, at);
      default:
        return replaced(bytes, at, oneIn(rng, 2) ? at : end, this.word(rng));
    }
  }

  private word(rng: Rng): Buffer {
    return this.words.length === 0 ? randomBytes(rng, between(rng, 1, 4)) : pick(rng, this.words);
  }

  /** A piece of another seed, or of the same. */
  private splice(rng: Rng, bytes: Buffer<ArrayBuffer>, at: number): Buffer<ArrayBuffer> {
    const other = pick(rng, this.seeds);
    const from = below(rng, other.length + 1);
    const piece = other.subarray(from, from + between(rng, 1, 64));
    return replaced(bytes, at, oneIn(rng, 2) ? at : Math.min(bytes.length, at + piece.length), piece);
  }
}

const asBuffer = (bytes: Uint8Array | string): Buffer =>
  typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes);

export function randomBytes(rng: Rng, length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = below(rng, 256);
  return bytes;
}

function poke(bytes: Buffer<ArrayBuffer>, at: number, change: (byte: number) => number): Buffer<ArrayBuffer> {
  if (at < bytes.length) bytes[at] = change(bytes[at] ?? 0);
  return bytes;
}

function replaced(bytes: Buffer<ArrayBuffer>, from: number, to: number, by: Uint8Array): Buffer<ArrayBuffer> {
  return Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);
}

function repeated(bytes: Buffer<ArrayBuffer>, from: number, to: number, times: number): Buffer<ArrayBuffer> {
  const piece = bytes.subarray(from, to);
  return replaced(bytes, to, to, Buffer.concat(Array.from({ length: times }, () => piece)));
}

/** Puts a hostile number in the place of the digits around `at`, or there. */
function number(rng: Rng, bytes: Buffer<ArrayBuffer>, at: number): Buffer<ArrayBuffer> {
  const isDigit = (index: number): boolean => (bytes[index] ?? 0) >= 48 && (bytes[index] ?? 0) <= 57;
  let from = at;
  while (from < bytes.length && !isDigit(from)) from += 1;
  let to = from;
  while (isDigit(to)) to += 1;
  return replaced(bytes, from, to, pick(rng, HOSTILE_NUMBERS));
}

/** Overwrites one, two or four bytes with a length that is not true. */
function lie(rng: Rng, bytes: Buffer<ArrayBuffer>, at: number): Buffer<ArrayBuffer> {
  const value = pick(rng, LENGTH_LIES);
  const width = pick(rng, [1, 2, 4]);
  if (at + width > bytes.length) return bytes;
  const masked = width === 4 ? value : value % 256 ** width;
  if (oneIn(rng, 2)) bytes.writeUIntBE(masked, at, width);
  else bytes.writeUIntLE(masked, at, width);
  return bytes;
}

function nest(rng: Rng, bytes: Buffer<ArrayBuffer>, at: number): Buffer<ArrayBuffer> {
  const depth = oneIn(rng, 500) ? DEEPEST : between(rng, 1, 40);
  const bracket = pick(rng, BRACKETS);
  return replaced(bytes, at, at, Buffer.concat(Array.from({ length: depth }, () => bracket)));
}
