import { BoundedOutput } from "./bounded-output.ts";

const FRAME_MAGIC = 0x184d2204;
/** Frames from this magic number on, sixteen of them, hold something for others. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const FLAG = { dictionary: 0x01, checksum: 0x04, size: 0x08, blockChecksums: 0x10 } as const;
const PLAIN_BLOCK = 0x8000_0000;
const LEAST_MATCH = 4;

/**
 * Undoes LZ4 in its frame format, one frame after another. Checksums are passed over: the connection has its own.
 * @see https://github.com/lz4/lz4 lz4_Frame_format.md and lz4_Block_format.md
 * @throws RangeError when it comes to more than `maxBytes`, Error when it is no such data
 */
export function unLz4(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const output = new BoundedOutput(4 * bytes.length, maxBytes);
  let at = 0;
  while (at < bytes.length) {
    const magic = word(view, at);
    if (magic === FRAME_MAGIC) at = readFrame(bytes, view, at + 4, output);
    else if (magic >>> 4 === SKIPPABLE_MAGIC >>> 4) at += 8 + word(view, at + 4);
    else throw new Error("it does not begin as a frame does");
  }
  return output.written;
}

/** @returns where the next frame begins */
function readFrame(bytes: Uint8Array, view: DataView, from: number, output: BoundedOutput): number {
  const flags = bytes[from] ?? 0;
  if (flags >>> 6 !== 1) throw new Error("a frame of another version");
  if ((flags & FLAG.dictionary) !== 0) throw new Error("it needs a dictionary");
  const checksumBytes = (flags & FLAG.blockChecksums) === 0 ? 0 : 4;
  let at = from + 3 + ((flags & FLAG.size) === 0 ? 0 : 8);
  for (let head = word(view, at); head !== 0; head = word(view, at)) {
    const isPlain = head >= PLAIN_BLOCK;
    const begin = at + 4;
    const end = begin + (isPlain ? head - PLAIN_BLOCK : head);
    if (isPlain) output.append(bytes, begin, end);
    else if (end <= bytes.length) readBlock(bytes.subarray(begin, end), output);
    else throw new Error("a block ends too early");
    at = end + checksumBytes;
  }
  return at + 4 + ((flags & FLAG.checksum) === 0 ? 0 : 4);
}

/** Literal bytes and a reference to bytes before, again and again; the last part has no reference. */
function readBlock(bytes: Uint8Array, output: BoundedOutput): void {
  let at = 0;
  const extended = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (;;) {
      const byte = bytes[at];
      if (byte === undefined) throw new Error("a length does not end");
      at += 1;
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (at < bytes.length) {
    const token = bytes[at] ?? 0;
    at += 1;
    const literals = extended(token >>> 4);
    output.append(bytes, at, at + literals);
    at += literals;
    if (at >= bytes.length) return;
    const distance = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    at += 2;
    output.repeat(distance, LEAST_MATCH + extended(token & 15));
  }
}

function word(view: DataView, at: number): number {
  if (at + 4 > view.byteLength) throw new Error("it ends too early");
  return view.getUint32(at, true);
}
