import fc from "fast-check";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { below, between, fewTimes, oneIn, pick } from "./draw.ts";

const POOL_SEED = 20_250_101;
const POOL_SIZE = 512;
const DEEPEST = 5_000;
const LONGEST_LIST = 2_000;

/** Leaves that readers trip over. `JSON.parse` makes Infinity of 1e999 and −0 of -0. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  1,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 64,
  1e15,
  8.64e15,
  8.64e15 + 1,
  1e308,
  -1e308,
  5e-324,
  1e-9,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  "",
  " ",
  "0",
  "-1",
  "NaN",
  "Infinity",
  "1e999",
  "0x1f",
  "__proto__",
  "constructor",
  "toString",
  "\u0000",
  "\ud800",
  "\u202e",
  "\u2028",
  "é",
  "名前",
  "a\nb",
  "a".repeat(300),
  "1".repeat(400),
  [],
  {},
];

/** Any JSON value and any object, as fast-check draws them; the same in every run. */
const POOL: readonly unknown[] = [
  ...fc.sample(fc.jsonValue({ maxDepth: 3 }), { seed: POOL_SEED, numRuns: POOL_SIZE }),
  ...fc.sample(fc.double(), { seed: POOL_SEED, numRuns: POOL_SIZE }).filter((value) => !Number.isNaN(value)),
  ...fc.sample(fc.integer(), { seed: POOL_SEED, numRuns: POOL_SIZE }),
  ...fc.sample(codeUnits(), { seed: POOL_SEED, numRuns: POOL_SIZE }),
];

/** Strings of any code units, lone surrogates among them. */
function codeUnits(): fc.Arbitrary<string> {
  const unit = fc.integer({ min: 0, max: 0xffff });
  return fc.array(unit, { maxLength: 40 }).map((units) => String.fromCharCode(...units));
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Draws values: a valid one with a few parts changed. Parts that are not changed are shared with the seed. */
export class ValueMutator {
  private readonly seeds: readonly unknown[];

  constructor(seeds: readonly unknown[]) {
    this.seeds = seeds;
  }

  make(rng: Rng): unknown {
    if (oneIn(rng, 128)) return pick(rng, POOL);
    const seed = pick(rng, this.seeds);
    return oneIn(rng, 32) ? seed : this.mutate(rng, seed);
  }

  /** The value with one to eight changes. */
  mutate(rng: Rng, value: unknown): unknown {
    let changed = value;
    for (let left = fewTimes(rng, 8); left > 0; left -= 1) changed = this.descend(rng, changed);
    return changed;
  }

  /** Goes down to a random part, more often a deep one, and changes it there. */
  private descend(rng: Rng, value: unknown): unknown {
    if (Array.isArray(value) && value.length > 0 && !oneIn(rng, 4)) {
      const at = below(rng, value.length);
      return value.with(at, this.descend(rng, value[at]));
    }
    if (isObject(value) && !oneIn(rng, 4)) {
      const keys = Object.keys(value);
      if (keys.length > 0) {
        const key = pick(rng, keys);
        return withKey(value, key, this.descend(rng, value[key]));
      }
    }
    return this.change(rng, value);
  }

  private change(rng: Rng, value: unknown): unknown {
    if (Array.isArray(value)) return this.changeList(rng, value);
    if (isObject(value)) return this.changeObject(rng, value);
    if (typeof value === "number" && oneIn(rng, 2)) return nearby(rng, value);
    if (typeof value === "string" && oneIn(rng, 3)) return mistyped(rng, value);
    return this.other(rng, value);
  }

  private other(rng: Rng, value: unknown): unknown {
    switch (below(rng, 8)) {
      case 0:
      case 1:
      case 2:
        return pick(rng, HOSTILE);
      case 3:
      case 4:
        return pick(rng, POOL);
      case 5:
        return [value];
      case 6:
        return nested(rng, value);
      default:
        return somePart(rng, pick(rng, this.seeds));
    }
  }

  private changeList(rng: Rng, list: readonly unknown[]): unknown {
    const at = below(rng, list.length + 1);
    switch (below(rng, 6)) {
      case 0:
        return list.toSpliced(at, 1);
      case 1:
        return list.toSpliced(at, 0, pick(rng, POOL));
      case 2:
        return list.toSpliced(at, 0, list[at]);
      case 3: {
        const times = oneIn(rng, 500) ? LONGEST_LIST : between(rng, 2, 5);
        return Array.from({ length: times }, () => list).flat();
      }
      case 4:
        return list.toReversed();
      default:
        return this.other(rng, list);
    }
  }

  private changeObject(rng: Rng, object: Json): unknown {
    const keys = Object.keys(object);
    switch (below(rng, 5)) {
      case 0:
        return keys.length === 0 ? object : withoutKey(object, pick(rng, keys));
      case 1:
        return withKey(
          object,
          pick(rng, ["unknown", "__proto__", "constructor", "length", ""]),
          pick(rng, POOL),
        );
      case 2:
        return keys.length < 2 ? object : withKey(object, pick(rng, keys), object[pick(rng, keys)]);
      case 3:
        return keys.length === 0 ? object : withKey(object, pick(rng, keys), pick(rng, HOSTILE));
      default:
        return this.other(rng, object);
    }
  }
}

/** A copy with one key changed; `__proto__` becomes a key like any other, as in JSON. */
export function withKey(object: Json, key: string, value: unknown): Json {
  const copy: Record<string, unknown> = { ...object };
  if (key !== "__proto__") copy[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}

export function withoutKey(object: Json, key: string): Json {
  const copy: Record<string, unknown> = { ...object };
  delete copy[key];
  return copy;
}

function nearby(rng: Rng, value: number): number {
  return pick(rng, [
    -value,
    value + 1,
    value - 1,
    value * 1e3,
    value / 1e3,
    value + 0.5,
    value * 1e300,
    value * 1e-300,
  ]);
}

function mistyped(rng: Rng, text: string): string {
  const at = below(rng, text.length + 1);
  switch (below(rng, 4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return (
        text.slice(0, at) +
        pick(rng, ["\u0000", "\ud83d", " ", "/", ".", "-", "A", "'", '"']) +
        text.slice(at)
      );
    case 2:
      return text.repeat(between(rng, 2, 40));
    default:
      return text.slice(0, at) + text.slice(at + 1);
  }
}

function nested(rng: Rng, value: unknown): unknown {
  let whole = value;
  for (let depth = oneIn(rng, 500) ? DEEPEST : between(rng, 1, 6); depth > 0; depth -= 1) {
    whole = oneIn(rng, 2) ? [whole] : { a: whole };
  }
  return whole;
}

function somePart(rng: Rng, value: unknown): unknown {
  let part = value;
  for (;;) {
    const parts = Array.isArray(part) ? part : isObject(part) ? Object.values(part) : [];
    if (parts.length === 0 || oneIn(rng, 3)) return part;
    part = pick(rng, parts);
  }
}
