import { TradewindError } from "@tradewind/core/values/errors.ts";
import { ByteStrings } from "./byte-strings.ts";

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
/** Of an unsigned 64-bit integer. */
const MAX_DIGITS = 20;
/** Of a number with a fraction or an exponent. */
export const MAX_NUMBER_BYTES = 40;
const MAX_ESCAPED_BYTES = 8_192;
const NOTHING = new Uint8Array(0);

/**
 * Reads JSON in UTF-8 from front to back, value by value, without building what nobody asks for. A body of 16 MiB costs no
 * memory beyond itself, and who reads decides when to stop.
 *
 * Objects and lists are read by loops: `for (let more = json.enterObject(); more; more = json.nextMember())`, and
 * `enterList`, `nextElement` alike; each turn must read or skip one value. `null` counts as empty.
 */
export class JsonScanner {
  /** Position in the text. */
  at = 0;
  /** The text read last, a key or a value: these bytes of `source`, quotes left out. */
  from = 0;
  to = 0;
  /** The bytes of the whole text, or of an unescaped string. */
  source: Uint8Array = NOTHING;
  private bytes: Uint8Array = NOTHING;
  private readonly strings = new ByteStrings();
  private readonly keys: ByteStrings;
  private readonly onSkip: () => void;
  private readonly expected: string;

  /**
   * @param onSkip called for every value that is passed over; it may throw
   * @param expected what the text should be, for people
   * @param names other names of keys
   */
  constructor(
    onSkip: () => void,
    expected = "an ExportTraceServiceRequest",
    names?: ReadonlyMap<string, string>,
  ) {
    this.onSkip = onSkip;
    this.expected = expected;
    this.keys = new ByteStrings(names);
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
    this.source = NOTHING;
  }

  /** @returns whether the object has a member, whose key {@link text} then gives; false for null */
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

  /** Reads a string, which {@link text}, `source`, `from` and `to` then give. @returns false for null */
  readString(): boolean {
    if (this.passNull()) return false;
    if (this.peek() !== QUOTE) this.fail("a string is expected");
    this.takeString();
    return true;
  }

  /** The key or string read last, at most `maxBytes` of it. */
  text(maxBytes: number): string {
    return this.strings.text(this.source, this.from, Math.min(this.to, this.from + maxBytes));
  }

  /** As {@link text}, of a key: by the first of its names, where it has several. Empty when it is longer. */
  key(maxBytes: number): string {
    return this.to - this.from > maxBytes ? "" : this.keys.text(this.source, this.from, this.to);
  }

  /** Reads a number, bare or in a string, as it is written: `source`, `from` and `to` give it. @returns false for null */
  readNumeric(): boolean {
    if (this.passNull()) return false;
    if (this.peek() === QUOTE) this.takeString();
    else this.takeNumber();
    const length = this.to - this.from;
    if (length === 0 || length > MAX_NUMBER_BYTES) this.fail("a number is expected");
    return true;
  }

  /** Whether the number read last is written with digits only, no more than an unsigned integer of 64 bits has. */
  hasDigitsOnly(): boolean {
    const { from, source, to } = this;
    if (to - from > MAX_DIGITS) return false;
    for (let at = from; at < to; at += 1) if (!isDigit(source[at] ?? 0)) return false;
    return true;
  }

  /** @returns the integer, at most 15 digits, or the text; undefined for null */
  readIntegerOrText(maxBytes: number): number | string | undefined {
    if (this.peek() !== QUOTE) return this.readInteger();
    this.takeString();
    return this.text(maxBytes);
  }

  /** @returns the integer, at most 15 digits; undefined for null */
  readInteger(): number | undefined {
    if (this.passNull()) return undefined;
    this.takeNumber();
    const value = Number(this.text(MAX_DIGITS));
    if (this.to === this.from || !Number.isSafeInteger(value)) this.fail("an integer is expected");
    return value;
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

  /** Passes over one value of any kind as {@link skip}: {@link text} then gives it as it stands, a string without its quotes. */
  skipText(): void {
    const quotes = this.peek() === QUOTE ? 1 : 0;
    const begin = this.at;
    this.skip();
    this.source = this.bytes;
    this.from = begin + quotes;
    this.to = this.at - quotes;
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
    this.takeString();
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

  /** Passes over a string. @returns whether it holds escapes */
  private passString(): boolean {
    const { bytes } = this;
    let escaped = false;
    for (let at = this.at + 1; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.at = at + 1;
        return escaped;
      }
      if (byte < SPACE) break;
      if (byte === BACKSLASH) {
        escaped = true;
        at += 1;
      }
    }
    return this.fail("a string does not end, or holds a control character");
  }

  private takeString(): void {
    const begin = this.at;
    if (this.passString()) {
      this.source = this.unescaped(begin, this.at);
      this.from = 0;
      this.to = this.source.length;
    } else {
      this.source = this.bytes;
      this.from = begin + 1;
      this.to = this.at - 1;
    }
  }

  /** What a string with escapes says; nothing when it is longer than anything that is read could be. */
  private unescaped(from: number, to: number): Uint8Array {
    if (to - from > MAX_ESCAPED_BYTES) return NOTHING;
    const text = new TextDecoder().decode(this.bytes.subarray(from, to));
    try {
      return Buffer.from(JSON.parse(text) as string);
    } catch {
      return this.fail("a string holds an escape that does not exist");
    }
  }

  /** What may be a number, up to the byte that ends it; empty where there is none. */
  private takeNumber(): void {
    this.peek();
    this.source = this.bytes;
    this.from = this.at;
    this.to = this.endOfNumber();
    this.at = this.to;
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
