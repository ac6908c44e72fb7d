const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Calls back with the depth of a JSON text in objects and lists after each byte that opens or closes one, until that says that it
 * has seen enough. Looks at bytes only.
 */
function eachDepth(text: Uint8Array, isEnough: (depth: number, index: number) => boolean): void {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const byte = text[index];
    if (quoted) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (isEnough(depth, index)) return;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (isEnough(depth, index)) return;
    }
  }
}

/** Whether a JSON text nests deeper than `max` objects and lists; before anything is parsed. */
export function nestsDeeperThan(text: Uint8Array, max: number): boolean {
  let isDeeper = false;
  eachDepth(text, (depth) => {
    isDeeper = depth > max;
    return isDeeper;
  });
  return isDeeper;
}

/**
 * The value of a JSON text, or the objects and lists of one that holds several, as a stream over HTTP does: one on each line, or
 * over several lines.
 * @throws SyntaxError where one of them is no JSON, or something follows the last
 */
export function jsonValues(text: Buffer): unknown[] {
  const ends: number[] = [];
  eachDepth(text, (depth, index) => {
    if (depth === 0) ends.push(index + 1);
    return false;
  });
  if (ends.length < 2) return [JSON.parse(text.toString("utf8"))];
  const parts = ends.map((end, index) => text.toString("utf8", ends[index - 1] ?? 0, end));
  const rest = text.toString("utf8", ends.at(-1));
  return [...parts, ...(rest.trim() === "" ? [] : [rest])].map((part): unknown => JSON.parse(part));
}
