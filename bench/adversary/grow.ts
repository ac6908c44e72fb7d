import type { Rng } from "@tradewind/core/values/rng.ts";
import { below, oneIn, pick } from "../../test/fuzz/engine/draw.ts";

/** JSON text that no value has: keys given twice, numbers of many digits, nesting deeper than a writer goes. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const UNITS = [
  "a",
  " ",
  "!",
  "7",
  "-",
  ".",
  ",",
  "=",
  "/",
  "é",
  "名",
  "\u00a0",
  "\\u0000",
  '"',
  "a-",
  "0:",
  "((",
  "{",
];
const TAILS = ["", "\u0000", "\n", " ", "!"];
/** Texts that mean something to one of the readers. */
const WORDS = [
  "* * * * *",
  "0 0 29 2 *",
  "59 23 31 12 *",
  "1970-01-01/9999-12-31",
  "America/New_York",
  "9".repeat(400),
  "1e308",
  "2026-01-02T03:04:05.123456789+01:00",
  "service.name=a,service.name=b",
  "%ff%fe",
  "frontend",
  "geo",
];

/** How long or how often; a few sizes over the whole scale. */
const amount = (rng: Rng, most: number): number => Math.max(2, Math.floor(most ** (0.3 + 0.7 * rng())));

const longText = (rng: Rng, most: number): string => {
  const unit = pick(rng, UNITS);
  const tail = pick(rng, TAILS);
  return unit.repeat(Math.floor(amount(rng, most) / unit.length)) + tail;
};

function rawText(rng: Rng, most: number): RawJson {
  const times = amount(rng, most / 8);
  switch (below(rng, 4)) {
    case 0:
      return new RawJson("1".repeat(8 * times));
    case 1:
      return new RawJson(`0.${"1".repeat(8 * times)}e-5`);
    case 2:
      return new RawJson(
        oneIn(rng, 2)
          ? "[".repeat(times) + "]".repeat(times)
          : '{"a":'.repeat(times) + "1" + "}".repeat(times),
      );
    default:
      return new RawJson(`{${'"__p":1,'.repeat(times)}"a":1}`);
  }
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

function changed(rng: Rng, value: unknown, most: number): unknown {
  if (isList(value) && value.length > 0 && !oneIn(rng, 6)) {
    const times = Math.min(amount(rng, most / 2), Math.ceil(most / (JSON.stringify(value)?.length ?? 1)));
    return Array.from({ length: times }, () => value).flat();
  }
  if (typeof value === "object" && value !== null && oneIn(rng, 2)) {
    const keys = Array.from({ length: amount(rng, most / 16) }, (_, index) => [`key-${index}`, index]);
    return { ...value, ...Object.fromEntries(keys) };
  }
  switch (below(rng, 6)) {
    case 0:
      return rawText(rng, most);
    case 1:
      return Array.from({ length: amount(rng, most / 4) }, () =>
        pick(rng, [0, null, value === undefined ? 0 : 1]),
      );
    case 2:
    case 3:
      return pick(rng, WORDS);
    default:
      return longText(rng, most);
  }
}

/** The value with one part of it made larger, or another. @param most characters that may be added */
export function grown(rng: Rng, value: unknown, most: number): unknown {
  if (value instanceof RawJson) return rawText(rng, most);
  if (isList(value) && value.length > 0 && !oneIn(rng, 3)) {
    const index = below(rng, value.length);
    return value.with(index, grown(rng, value[index], most));
  }
  if (typeof value === "object" && value !== null && !oneIn(rng, 4)) {
    const keys = Object.keys(value);
    if (keys.length > 0) {
      const key = pick(rng, keys);
      return { ...value, [key]: grown(rng, (value as Record<string, unknown>)[key], most) };
    }
  }
  return changed(rng, value, most);
}

/** What each part of a value is replaced by before anything is drawn. */
const starts = (most: number): unknown[] => [
  `${"a".repeat(most - 8)}\u0000`,
  `${"!".repeat(most - 8)}\u0000`,
  `${" ".repeat(most - 8)}\u0000`,
  `${"0".repeat(most - 8)}\u0000`,
  `${"a-".repeat(most / 2 - 8)}\u0000`,
  new RawJson("1".repeat(most)),
  new RawJson("[".repeat(most / 2) + "]".repeat(most / 2)),
  new RawJson(`{${'"a":1,'.repeat(most / 8)}"a":1}`),
  new RawJson(`[${"0,".repeat(most / 2 - 2)}0]`),
];

/** The value with one of its parts after the other as large as may be. */
export function* enlarged(value: unknown, most: number): Generator {
  const size = 8 * Math.floor((most - jsonOf(value).length) / 8);
  yield* replacing(value, starts(size));
}

function* replacing(value: unknown, others: readonly unknown[]): Generator {
  yield* others;
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    for (const other of replacing(part, others))
      yield isList(value) ? value.with(Number(key), other) : { ...value, [key]: other };
  }
}

/** As `JSON.stringify`, with the raw parts in their places. */
export function jsonOf(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  return `{${parts.map(([key, part]) => `${JSON.stringify(key)}:${jsonOf(part)}`).join()}}`;
}
