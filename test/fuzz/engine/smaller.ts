import { withKey, withoutKey } from "./values.ts";

/** Whether an input still breaks the target in the same way. */
type Breaks = (input: unknown) => Promise<boolean>;

const MAX_TRIES = 4_000;

/** A smaller input that breaks in the same way; the input itself when there is none within a few thousand tries. */
export async function minimise(input: unknown, breaks: Breaks, maxTries = MAX_TRIES): Promise<unknown> {
  let left = maxTries;
  const tries: Breaks = async (smaller) => {
    left -= 1;
    return left >= 0 && (await breaks(smaller));
  };
  return input instanceof Uint8Array
    ? smallerBytes(input, tries)
    : smallerValue(input, tries, () => left > 0);
}

/** Takes pieces out, large ones first, for as long as it still breaks. */
async function smallerBytes(bytes: Uint8Array, breaks: Breaks): Promise<Uint8Array> {
  let best = Buffer.from(bytes);
  for (let size = best.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < best.length;) {
      const without = Buffer.concat([best.subarray(0, at), best.subarray(at + size)]);
      if (await breaks(without)) best = without;
      else at += size;
    }
  }
  return best;
}

/** Takes parts of the value out, or puts simpler ones in their place, for as long as it still breaks. */
async function smallerValue(value: unknown, breaks: Breaks, mayTry: () => boolean): Promise<unknown> {
  let best = value;
  for (let found = true; found && mayTry();) {
    found = false;
    for (const candidate of smallerValues(best)) {
      if (!mayTry()) break;
      if (!(await breaks(candidate))) continue;
      best = candidate;
      found = true;
      break;
    }
  }
  return best;
}

/** Values a step simpler, the largest steps first. */
function* smallerValues(value: unknown): Generator {
  if (typeof value === "string" && value.length > 1) {
    yield value.slice(0, value.length >> 1);
    yield value.slice(value.length >> 1);
  }
  if (Array.isArray(value)) yield* smallerLists(value);
  else if (typeof value === "object" && value !== null)
    yield* smallerObjects(value as Record<string, unknown>);
}

function* smallerLists(list: readonly unknown[]): Generator {
  if (list.length > 1) {
    yield list.slice(0, list.length >> 1);
    yield list.slice(list.length >> 1);
  }
  for (const [at, part] of list.entries()) {
    yield list.toSpliced(at, 1);
    if (typeof part === "object" && part !== null) yield part;
    for (const smaller of smallerValues(part)) yield list.with(at, smaller);
  }
}

function* smallerObjects(object: Readonly<Record<string, unknown>>): Generator {
  for (const [key, part] of Object.entries(object)) {
    yield withoutKey(object, key);
    if (typeof part === "object" && part !== null) yield part;
    for (const smaller of smallerValues(part)) yield withKey(object, key, smaller);
  }
}

const SHOWN = 2_000;

/** An input as a person can read it, or copy it. */
export function shown(input: unknown): string {
  if (!(input instanceof Uint8Array)) {
    const text = safeJson(input);
    return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
  }
  const bytes = Buffer.from(input);
  const text = bytes.toString("latin1");
  const isText =
    [...bytes.subarray(0, SHOWN)].filter((byte) => byte < 9 || byte > 126).length * 8 <= bytes.length;
  const all = isText ? JSON.stringify(text) : `base64 ${bytes.toString("base64")}`;
  return all.length > SHOWN ? `${all.slice(0, SHOWN)}… (${bytes.length} bytes)` : all;
}

export function sizeOf(input: unknown): number {
  return input instanceof Uint8Array ? input.length : safeJson(input).length;
}

/** JSON has no infinities and no −0, and no text for what is nested too deep. */
function safeJson(value: unknown): string {
  try {
    const replaced = (_key: string, part: unknown): unknown =>
      typeof part === "number" && (!Number.isFinite(part) || Object.is(part, -0))
        ? `(${Object.is(part, -0) ? "-0" : part})`
        : part;
    return JSON.stringify(value, replaced) ?? String(value);
  } catch (error) {
    return `(${String(error)})`;
  }
}
