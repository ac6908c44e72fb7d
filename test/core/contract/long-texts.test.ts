/* oxlint-disable no-underscore-dangle -- `_zod` is where zod keeps what a schema is made of */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const CONTRACTS = join(import.meta.dirname, "../../../core/contract");
const CHARACTERS = 256 * 1_024;
/** One parse of a text that is far too long takes well under 1 ms; a quadratic expression takes minutes. */
const MOST_CPU_MS = 50;

/** Gives a schema a value in which one text, or one key of a record, is this one. */
type Fill = (text: string) => unknown;
interface Place {
  readonly path: string;
  readonly fill: Fill;
  readonly patterns: readonly RegExp[];
  readonly leaf: z.ZodType;
}

/** Every place of a text in a schema, with what else a union needs to look at it. */
function* placesOf(schema: z.core.$ZodType, path: string): Generator<Place> {
  const { def } = schema._zod as unknown as z.core.$ZodTypes["_zod"];
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all other kinds hold no text
  switch (def.type) {
    case "object": {
      const constants = Object.fromEntries(
        Object.entries(def.shape).flatMap(([key, part]) => constantOf(part).map((value) => [key, value])),
      );
      for (const [key, part] of Object.entries(def.shape)) {
        for (const place of placesOf(part, `${path}.${key}`))
          yield { ...place, fill: (text) => ({ ...constants, [key]: place.fill(text) }) };
      }
      yield { ...leafOf(schema, `${path} (an unknown key)`), fill: (text) => ({ ...constants, [text]: 1 }) };
      return;
    }
    case "array":
      for (const place of placesOf(def.element, `${path}[]`))
        yield { ...place, fill: (text) => [place.fill(text)] };
      return;
    case "record":
      for (const place of placesOf(def.keyType, `${path}{key}`))
        yield { ...place, fill: (text) => ({ [String(place.fill(text))]: 1 }) };
      for (const place of placesOf(def.valueType, `${path}{}`))
        yield { ...place, fill: (text) => ({ a: place.fill(text) }) };
      return;
    case "union":
      for (const [index, option] of def.options.entries()) yield* placesOf(option, `${path}|${index}`);
      return;
    case "pipe":
      yield* placesOf(def.in, path);
      yield* placesOf(def.out, path);
      return;
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
      yield* placesOf(def.innerType, path);
      return;
    default:
      yield leafOf(schema, path);
  }
}

const leafOf = (schema: z.core.$ZodType, path: string): Place => ({
  path,
  fill: (text) => text,
  patterns: patternsOf(schema),
  leaf: schema as z.ZodType,
});

function patternsOf({ _zod: { def } }: z.core.$ZodType): RegExp[] {
  const checks = [def, ...(def.checks ?? []).map((check) => check._zod.def)] as { pattern?: RegExp }[];
  return checks.flatMap(({ pattern }) => pattern ?? []);
}

/** The value that tells members of a union apart. */
function constantOf(schema: z.core.$ZodType): unknown[] {
  const { def } = schema._zod as unknown as z.core.$ZodTypes["_zod"];
  return def.type === "literal" ? def.values.slice(0, 1) : [];
}

const ASCII = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index));
const SHAPES = ["a", " ", "7", "((", '[{"', "名", "😀", "\ud83d", "é-", "\u00a0", "a.", "a-", "0:", "\u0000"];
const BAD_TAILS = ["", "\u0000", "\n", " !"];

const long = (unit: string, tail: string): string =>
  unit.repeat(CHARACTERS / unit.length).slice(0, CHARACTERS - tail.length) + tail;
const PLAIN = SHAPES.flatMap((unit) => BAD_TAILS.map((tail) => long(unit, tail)));
const FEW = [long("a", "\u0000"), long("7", " "), long("!", "\u0000")];

/** Long runs that a pattern nearly takes: of each character, and of short texts that it takes as a whole, with an end that it does not. */
function textsFor(patterns: readonly RegExp[]): string[] {
  if (patterns.length === 0) return PLAIN;
  const pairs = ASCII.flatMap((first) => ASCII.map((second) => first + second));
  const taken = pairs.filter((pair) => patterns.some((pattern) => new RegExp(pattern).test(pair)));
  const some = taken.filter((_, index) => index % Math.ceil(taken.length / 20) === 0);
  return [
    ...PLAIN,
    ...[...ASCII, ...some].flatMap((unit) => ["\u0000", "\n"].map((tail) => long(unit, tail))),
  ];
}

function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { system, user } = process.threadCpuUsage(before);
  return (user + system) / 1e3;
}

/** The first text that takes too long, in words. A garbage collection may fall into one parse, hardly into three. */
function slowest(schema: z.ZodType, texts: readonly string[], { fill, path }: Place): string | undefined {
  for (const text of texts) {
    const value = fill(text);
    let cpuMs = Number.POSITIVE_INFINITY;
    for (let left = 3; left > 0 && cpuMs > MOST_CPU_MS; left -= 1)
      cpuMs = Math.min(
        cpuMs,
        cpuMsOf(() => schema.safeParse(value)),
      );
    if (cpuMs > MOST_CPU_MS)
      return `${path} takes ${Math.round(cpuMs)} ms for ${JSON.stringify(text.slice(0, 4))}…${JSON.stringify(text.slice(-2))}`;
  }
  return undefined;
}

const contracts = (
  await Promise.all(
    readdirSync(CONTRACTS).map(async (file) => {
      const module = (await import(join(CONTRACTS, file))) as Record<string, unknown>;
      return Object.entries(module).flatMap(([name, schema]) =>
        schema instanceof z.ZodType ? [{ name: `${file.replace(".ts", "")} ${name}`, schema }] : [],
      );
    }),
  )
).flat();
const documents = contracts.map(({ name, schema }) => ({ name, schema, places: [...placesOf(schema, "$")] }));

describe("a text of 256 kB costs a parse less than 50 ms of CPU", () => {
  const texts = new Map<string, Place>();
  for (const { name, places } of documents) {
    for (const place of places) {
      const key = String(place.patterns);
      if (place.patterns.length > 0 && !texts.has(key))
        texts.set(key, { ...place, path: `${name} ${place.path}` });
    }
  }
  it.each([...texts.values()])("where a text must fit $patterns, as in $path", (place) => {
    const problem = slowest(place.leaf, textsFor(place.patterns), { ...place, fill: (text) => text });
    expect(problem).toBeUndefined();
  });

  it.each(documents)("anywhere in $name", ({ places, schema }) => {
    const problems = places.flatMap((place) => slowest(schema, FEW, place) ?? []);
    expect(problems).toEqual([]);
  });
});
