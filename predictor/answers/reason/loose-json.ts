/** Deeper values are not read. */
const MOST_DEPTH = 16;
/** Brackets that are tried as the begin of the value: prose before it may have some. */
const MOST_BEGINS = 8;

const SKIPPED = [/[\s,;]+/y, /\/\/[^\n]*/y, /\/\*[^*]*\*\//y, /#[^\n]*/y] as const;
const QUOTED = /"(?:[^"\\]|\\[^])*"?|“[^”]*”?|'(?:[^'\\]|\\[^])*'?/y;
const BARE_KEY = /[^\s:=,[\]{}"']+/y;
const BARE_VALUE = /[^,[\]{}"\n]+/y;
const COLON = /\s*[:=]\s*/y;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["none", null],
]);

/**
 * The first list or object of a text, read as models write JSON: in prose or a fence, with comments, commas too many or too few, other
 * quotes or none, and without its end. Never throws.
 * @returns undefined where there is none
 */
export function looseJson(text: string): unknown {
  let scalars: unknown;
  let begin = text.search(/[[{]/);
  for (let tries = 0; begin >= 0 && tries < MOST_BEGINS; tries += 1) {
    const found = new Reader(text, begin).read();
    if (found !== undefined && (isEmptyList(found) || holdsObject(found))) return found;
    scalars ??= found;
    const next = text.slice(begin + 1).search(/[[{]/);
    begin = next < 0 ? -1 : begin + 1 + next;
  }
  return scalars;
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** An object with something in it, at any depth of lists. */
function holdsObject(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsObject);
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

class Reader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  read(): unknown {
    return this.#value(0);
  }

  /** Undefined beyond the depth that is read; everything after that is unread as well. */
  #value(depth: number): unknown {
    if (depth > MOST_DEPTH) {
      this.#at = this.#text.length;
      return undefined;
    }
    const first = this.#text[this.#at];
    if (first === "[") return this.#list(depth);
    if (first === "{") return this.#object(depth);
    return this.#quoted() ?? wordOf(this.#match(BARE_VALUE));
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    while (this.#isInside("]")) {
      const item = this.#value(depth + 1);
      if (item !== undefined) items.push(item);
    }
    return items;
  }

  #object(depth: number): Record<string, unknown> {
    const fields: [string, unknown][] = [];
    this.#at += 1;
    while (this.#isInside("}")) {
      const key = this.#quoted() ?? this.#match(BARE_KEY);
      if (key === "" || this.#match(COLON) === "") continue;
      const value = this.#value(depth + 1);
      if (value !== undefined) fields.push([key, value]);
    }
    return Object.fromEntries(fields);
  }

  /** Whether something of a list or an object follows; goes on behind its end otherwise. A foreign bracket is passed over. */
  #isInside(end: "]" | "}"): boolean {
    for (;;) {
      if (SKIPPED.some((pattern) => this.#match(pattern) !== "")) continue;
      const next = this.#text[this.#at];
      if (next === undefined) return false;
      if (next === end) {
        this.#at += 1;
        return false;
      }
      const isForeign = end === "}" ? "[]{:=".includes(next) : next === "}" || next === ":";
      if (!isForeign) return true;
      this.#at += 1;
    }
  }

  #quoted(): string | undefined {
    const text = this.#match(QUOTED);
    return text === "" ? undefined : unquoted(text);
  }

  /** What a sticky pattern matches here, passed over; empty where it does not. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text = ""] = pattern.exec(this.#text) ?? [];
    this.#at += text.length;
    return text;
  }
}

/** A raw line break within a string is none of JSON, and meant. */
function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    const isClosed = text.length > 1 && /["”']$/.test(text);
    return text.slice(1, isClosed ? -1 : undefined).replaceAll(/\\(.)/g, "$1");
  }
}

/** A number, a word of JSON, or the text as it stands; undefined of nothing. */
function wordOf(bare: string): unknown {
  const text = (bare.split("//", 1)[0] ?? "").trim();
  if (text === "") return undefined;
  if (NUMBER.test(text)) return Number(text);
  const word = text.toLowerCase();
  return WORDS.has(word) ? WORDS.get(word) : text;
}
