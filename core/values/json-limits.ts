/** What a JSON text may hold at most, whatever it is. */
export interface JsonLimits {
  /** Of brackets within brackets. */
  readonly depth: number;
  /** Elements of lists and of objects, all together. */
  readonly values: number;
}

/** Of what a stranger sends: 20,000 values that are all wrong take some 20 ms to be judged. */
const BODY_LIMITS: JsonLimits = { depth: 32, values: 20_000 };

/** Of an object of Kubernetes, whose schemas nest less than 60 levels deep. */
export const OBJECT_LIMITS: JsonLimits = { depth: 100, values: 200_000 };

/** What a server answers to a JSON body that is beyond the limits of a request, before it is parsed; undefined for one within them. */
export function bodyProblem(text: string): (Error & { readonly statusCode: number }) | undefined {
  const problem = limitProblem(text, BODY_LIMITS);
  if (problem === undefined) return undefined;
  return Object.assign(new Error(`the body is not read: ${problem}`), { statusCode: 413 });
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
/** Square brackets and braces differ in this bit. */
const BRACE = 0x20;
const [OPEN, CLOSE] = [0x5b, 0x5d];

/**
 * What of a text is beyond the limits; undefined where nothing is. It is looked at once, from the left, and need not be JSON: brackets and
 * commas outside of strings say how much there would be to parse.
 */
export function limitProblem(text: string, limits: JsonLimits): string | undefined {
  let [depth, values] = [0, 0];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = endOfString(text, index);
    } else if (code === COMMA) {
      values += 1;
    } else if ((code & ~BRACE) === OPEN) {
      depth += 1;
      values += 1;
    } else if ((code & ~BRACE) === CLOSE) {
      depth -= 1;
    }
    if (depth > limits.depth) return `it is nested deeper than ${limits.depth} brackets`;
    if (values > limits.values) return `it has more than ${limits.values} values`;
  }
  return undefined;
}

/** @returns where the string that begins there ends */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, start, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, start: number, at: number): boolean {
  let before = at - 1;
  while (before > start && text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - 1 - before) % 2 === 1;
}

/** Values in lists and objects, those within them too; counting ends beyond `most`. */
export function countValues(value: unknown, most: number): number {
  const left: unknown[] = [value];
  let count = 0;
  while (left.length > 0 && count <= most) {
    const next = left.pop();
    count += 1;
    if (typeof next !== "object" || next === null) continue;
    const parts = Array.isArray(next) ? (next as unknown[]) : Object.values(next);
    if (count + parts.length > most) return count + parts.length;
    for (const part of parts) left.push(part);
  }
  return count;
}
