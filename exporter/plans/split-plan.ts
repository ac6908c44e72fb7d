/** Where the elements of a plan's list of wishes lie, so that each can be read by itself. */
export interface SplitPlan {
  /** The document with an empty list of wishes, as JSON. */
  readonly headerText: string;
  /** Start and end of each wish in bytes, one after the other. */
  readonly wishEnds: readonly number[];
}

/** A turn of the scan; a tenth of a millisecond or so. */
const STEP_BYTES = 32 * 1024;

const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const WISHES = Buffer.from('"wishes"');
const ROOT_DEPTH = 1;
const LIST_DEPTH = 2;

/**
 * Finds the wishes in the JSON of a plan without reading them: a plan of thousands of services takes tens of
 * milliseconds to parse in one go, which KEDA's calls would wait for. It judges nothing but the structure it needs;
 * whether the parts are JSON is for their parser to say.
 */
export class PlanSplitter {
  readonly #body: Buffer;
  readonly #wishEnds: number[] = [];
  #at = 0;
  #depth = 0;
  #stringStart = -1;
  /** The last string in the root object was `wishes`, and whether a colon came after it. */
  #key: "none" | "wishes" | "wishes:" = "none";
  #listStart = -1;
  #listEnd = -1;
  #elementStart = -1;
  #isOdd = false;

  constructor(body: Buffer) {
    this.#body = body;
  }

  /** Scans on a little with each turn. */
  *steps(): Generator<void, void, void> {
    while (this.#at < this.#body.length && !this.#isOdd) {
      this.#scan(Math.min(this.#body.length, this.#at + STEP_BYTES));
      yield;
    }
  }

  /** @returns undefined when the document has no plain list of wishes; it is then to be parsed as a whole */
  result(): SplitPlan | undefined {
    if (this.#isOdd || this.#listEnd < 0) return undefined;
    const before = this.#body.toString("utf8", 0, this.#listStart);
    const after = this.#body.toString("utf8", this.#listEnd);
    return { headerText: `${before}[]${after}`, wishEnds: this.#wishEnds };
  }

  #scan(end: number): void {
    const body = this.#body;
    let at = this.#at;
    while (at < end && !this.#isOdd) {
      if (this.#stringStart >= 0) {
        at = this.#inString(at, end);
        continue;
      }
      const byte = body[at] ?? 0;
      if (byte === QUOTE) this.#stringStart = at;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte, at);
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(byte, at);
      else if (this.#depth <= LIST_DEPTH) this.#separator(byte, at);
      at += 1;
    }
    this.#at = at;
  }

  /** @returns where to go on: after the string, or where this step ends */
  #inString(from: number, end: number): number {
    const body = this.#body;
    let at = from;
    while (at < end) {
      const byte = body[at];
      if (byte === QUOTE) {
        this.#endString(at + 1);
        return at + 1;
      }
      at += byte === BACKSLASH ? 2 : 1;
    }
    return at;
  }

  #endString(end: number): void {
    const isWishes = this.#depth === ROOT_DEPTH && this.#body.subarray(this.#stringStart, end).equals(WISHES);
    this.#stringStart = -1;
    if (this.#depth === ROOT_DEPTH) this.#key = isWishes ? "wishes" : "none";
  }

  #open(byte: number, at: number): void {
    this.#depth += 1;
    if (this.#key !== "wishes:" || this.#depth !== LIST_DEPTH) return;
    this.#key = "none";
    // Of two lists the last counts in JSON; whoever sends that gets the slow way.
    if (byte !== OPEN_ARRAY || this.#listStart >= 0) this.#isOdd = true;
    this.#listStart = at;
    this.#elementStart = at + 1;
  }

  #close(byte: number, at: number): void {
    if (this.#elementStart >= 0 && this.#depth === LIST_DEPTH) {
      if (byte !== CLOSE_ARRAY) this.#isOdd = true;
      if (this.#wishEnds.length > 0 || !this.#isBlank(at)) this.#wishEnds.push(this.#elementStart, at);
      this.#elementStart = -1;
      this.#listEnd = at + 1;
    }
    this.#depth -= 1;
  }

  #separator(byte: number, at: number): void {
    if (byte === COLON && this.#key === "wishes") this.#key = "wishes:";
    if (byte !== COMMA) return;
    if (this.#depth === ROOT_DEPTH) this.#key = "none";
    if (this.#depth !== LIST_DEPTH || this.#elementStart < 0) return;
    this.#wishEnds.push(this.#elementStart, at);
    this.#elementStart = at + 1;
  }

  #isBlank(end: number): boolean {
    return this.#body.toString("utf8", this.#elementStart, end).trim() === "";
  }
}
