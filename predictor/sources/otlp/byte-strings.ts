const MAX_CACHED_BYTES = 128;
/** Twice the names of services and pods of a large cluster. */
const PLACES = 2 ** 14;

interface Place {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/**
 * Text of byte ranges that come again and again (operation names): a direct-mapped cache, so that a known name costs a
 * hash and a comparison and no new string. Its size is fixed; a new name takes the place of an older one.
 */
export class ByteStrings {
  private readonly places: (Place | undefined)[] = Array.from({ length: PLACES }, () => undefined);
  private readonly decoder = new TextDecoder();

  /** The bytes [from, to) as UTF-8; invalid sequences become U+FFFD. */
  text(bytes: Uint8Array, from: number, to: number): string {
    if (to - from > MAX_CACHED_BYTES) return this.decoder.decode(bytes.subarray(from, to));
    const at = hash(bytes, from, to) & (PLACES - 1);
    const place = this.places[at];
    if (place !== undefined && equals(place.bytes, bytes, from, to)) return place.text;
    const text = this.decoder.decode(bytes.subarray(from, to));
    // A copy: `slice` of a Buffer would be a view of the body, which others may overwrite.
    this.places[at] = { bytes: Uint8Array.prototype.slice.call(bytes, from, to), text };
    return text;
  }
}

/** FNV-1a, 32 bits, folded. */
function hash(bytes: Uint8Array, from: number, to: number): number {
  let value = 0x811c9dc5;
  for (let at = from; at < to; at += 1) value = Math.imul(value ^ (bytes[at] ?? 0), 0x01000193);
  return value ^ (value >>> 16);
}

function equals(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let at = 0; at < known.length; at += 1) if (known[at] !== bytes[from + at]) return false;
  return true;
}
