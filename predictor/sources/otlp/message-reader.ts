import protobuf from "protobufjs/minimal.js";
import type { PartCount } from "./part-count.ts";

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;

/** A field's number and wire type as they stand before its value. */
export const tag = (field: number, wireType: number): number => (field << 3) | wireType;

const MAX_LENGTH = 0x1_0000_0000;

/** Moves through a protobuf message; every length is checked against the message around it. */
export class MessageReader extends protobuf.Reader {
  private readonly count: PartCount;

  constructor(bytes: Uint8Array, count: PartCount) {
    super(bytes);
    this.count = count;
  }

  /** Narrows the reader to the message that begins here; returns the end of the one around it for {@link leave}. */
  enter(): number {
    const outer = this.len;
    this.len = this.endOfBytes();
    return outer;
  }

  leave(outer: number): void {
    if (this.pos !== this.len) throw new RangeError("a field is longer than its message");
    this.len = outer;
  }

  /** Reads a length and returns where what it measures ends. */
  endOfBytes(): number {
    const length = this.readLength();
    const end = this.pos + length;
    if (end > this.len) throw new RangeError(`a length of ${length} exceeds its message`);
    return end;
  }

  /** A varint as it stands: read as 32 bits, a length of 2^32 would be 0. */
  private readLength(): number {
    let length = 0;
    for (let scale = 1; this.pos < this.len && scale <= MAX_LENGTH; scale *= 128) {
      const byte = this.buf[this.pos] ?? 0;
      this.pos += 1;
      length += (byte & 127) * scale;
      if (byte < 128) return length;
    }
    throw new RangeError("a length that does not end");
  }

  /** Passes over the value of a field that is not read. */
  skipField(field: number): void {
    this.count.skipped();
    if (field >>> 3 === 0) throw new RangeError("field number 0");
    switch (field & 7) {
      case VARINT:
        this.skip();
        break;
      case FIXED64:
        this.skip(8);
        break;
      case BYTES:
        this.pos = this.endOfBytes();
        break;
      case FIXED32:
        this.skip(4);
        break;
      default:
        throw new RangeError(`wire type ${field & 7}`);
    }
  }
}
