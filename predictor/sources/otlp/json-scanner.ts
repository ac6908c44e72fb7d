import { TradewindError } from "@tradewind/core/values/errors.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Values that are skipped may be nested this deep; OTLP's own attribute values are lists of lists at most. */
const MAX_DEPTH = 100;
const LITERALS = ["null", "true", "false"].map((text) => Buffer.from(text));
const [NULL] = LITERALS;
/** Longer keys are none of ours. */
const MAX_KEY_BYTES = 32;
const NOTHING = new Uint8Array(0);

/**
 * Goes through JSON in UTF-8 from front to back and builds the values that are asked for, once their parts are counted. A body
 * of 16 MiB costs little memory beyond itself, and who reads decides when to stop.
 *
 * Objects and lists are read by loops: `for (let more = json.enterObject(); more; more = json.nextMember())`, and
 * `enterList`, `nextElement` alike; each turn must build or skip one value. `null` counts as empty.
 */
export class JsonScanner {
  /** Position in the text. */
  at = 0;
  /** The key read last; empty when it is longer than any that is known. */
  key = "";
  private bytes: Uint8Array = NOTHING;
  private readonly onSkip: () => void;
  private readonly expected: string;

  /**
   * @param onSkip called for every value that is passed over or built; it may throw
   * @param expected what the text should be, for people
   */
  constructor(onSkip: () => void, expected: string) {
    this.onSkip = onSkip;
    this.expected = expected;
  }

  /** Starts with a new text, which must be an object, or a list. A byte order mark is passed over. */
  open(bytes: Uint8Array, kind: "list" | "object" = "object"): void {
    this.bytes = bytes;
    this.at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    if (this.peek() !== (kind === "list" ? OPEN_BRACKET : OPEN_BRACE)) this.fail(`the text is no ${kind}`);
  }

  /** @throws TradewindError unless only white space is left */
  expectEnd(): void {
    if (this.peek() !== 0 || this.at < this.bytes.length) this.fail("more than one value");
  }

  /** Lets go of the text. */
  release(): void {
    this.bytes = NOTHING;
  }

  /** @returns whether the object has a member, whose key is then {@link key}; false for null */
  enterObject(): boolean {
    if (this.passNull()) return false;
    this.expect(OPEN_BRACE, "an object");
    if (!this.pass(CLOSE_BRACE)) return this.readKey();
    return false;
  }

  nextMember(): boolean {
    if (this.pass(CLOSE_BRACE)) return false;
    this.expect(COMMA, "a comma or the end of an object");
    return this.readKey();
  }

  /** @returns whether the list has an element; false for null */
  enterList(): boolean {
    if (this.passNull()) return false;
    this.expect(OPEN_BRACKET, "a list");
    return !this.pass(CLOSE_BRACKET);
  }

  nextElement(): boolean {
    if (this.pass(CLOSE_BRACKET)) return false;
    this.expect(COMMA, "a comma or the end of a list");
    return true;
  }

  /**
   * Passes over one value of any kind. Only its structure is checked, not how its numbers are written.
   * @throws TradewindError where it is not JSON, or nested too deep
   */
  skip(depth = 0): void {
    this.onSkip();
    const byte = this.peek();
    if (byte === QUOTE) {
      this.passString();
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === MAX_DEPTH) this.fail(`nested deeper than ${MAX_DEPTH}`);
      this.skipMembers(byte === OPEN_BRACE, depth + 1);
    } else {
      this.skipScalar(byte);
    }
  }

  /** Builds one value of any kind after passing over it. @throws TradewindError as {@link skip} */
  value(): unknown {
    const begin = this.at;
    this.skip();
    return this.parsed(begin);
  }

  private parsed(begin: number): unknown {
    const { buffer, byteOffset } = this.bytes;
    try {
      return JSON.parse(Buffer.from(buffer, byteOffset + begin, this.at - begin).toString("utf8"));
    } catch {
      return this.fail("a number or an escape is not valid");
    }
  }

  private skipScalar(first: number): void {
    if (first === MINUS || isDigit(first)) {
      this.at = this.endOfNumber();
    } else if (!LITERALS.some((literal) => literal[0] === first && this.passLiteral(literal))) {
      this.fail("a value is expected");
    }
  }

  private skipMembers(isObject: boolean, depth: number): void {
    const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
    this.at += 1;
    if (this.pass(close)) return;
    for (;;) {
      if (isObject) this.skipKey();
      this.skip(depth);
      if (this.pass(close)) return;
      this.expect(COMMA, "a comma");
    }
  }

  private skipKey(): void {
    if (this.peek() !== QUOTE) this.fail("a key is expected");
    this.passString();
    this.expect(COLON, "a colon");
  }

  /** @throws TradewindError `malformed-otlp` */
  fail(what: string): never {
    const where = `byte ${this.at} of ${this.bytes.length}`;
    throw new TradewindError("malformed-otlp", `not ${this.expected}: ${where}: ${what}`);
  }

  private readKey(): boolean {
    if (this.peek() !== QUOTE) this.fail("a key is expected");
    const begin = this.at;
    this.passString();
    this.key = this.at - begin > MAX_KEY_BYTES + 2 ? "" : String(this.parsed(begin));
    this.expect(COLON, "a colon");
    return true;
  }

  /** The next byte that is not white space; 0 at the end. */
  private peek(): number {
    const { bytes } = this;
    let byte = bytes[this.at] ?? 0;
    while (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      this.at += 1;
      byte = bytes[this.at] ?? 0;
    }
    return byte;
  }

  private pass(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at += 1;
    return true;
  }

  private passNull(): boolean {
    return NULL !== undefined && this.peek() === NULL[0] && this.passLiteral(NULL);
  }

  private passLiteral(literal: Uint8Array): boolean {
    for (let index = 0; index < literal.length; index += 1) {
      if (this.bytes[this.at + index] !== literal[index]) return false;
    }
    this.at += literal.length;
    return true;
  }

  private expect(byte: number, what: string): void {
    if (!this.pass(byte)) this.fail(`${what} is expected`);
  }

  private passString(): void {
    const { bytes } = this;
    for (let at = this.at + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.at = at + 1;
        return;
      }
      if (byte < SPACE) break;
      if (byte === BACKSLASH) at += 1;
    }
    this.fail("a string does not end, or holds a control character");
  }

  private endOfNumber(): number {
    const { bytes } = this;
    let end = this.at;
    while (isOfNumber(bytes[end] ?? 0)) end += 1;
    return end;
  }
}

/** A digit, `+`, `-`, `.`, `e` or `E`. */
function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2b || byte === MINUS || byte === 0x2e || byte === 0x65 || byte === 0x45;
}

const isDigit = (byte: number): boolean => byte >= ZERO && byte < ZERO + 10;
