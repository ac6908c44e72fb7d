import { BoundedOutput } from "./bounded-output.ts";

/** How the framing format begins: a chunk of type 0xff with the text `sNaPpY`. */
const STREAM_IDENTIFIER = Buffer.from([0xff, 6, 0, 0, ...Buffer.from("sNaPpY")]);
const CHUNK = { compressed: 0x00, plain: 0x01, firstSkippable: 0x80 } as const;
const CHUNK_HEAD_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** Of a chunk of the framing format, once decompressed. */
const MOST_CHUNK_BYTES = 65_536;
/** A tag of three bytes writes 64: no block grows by more. */
const MOST_GROWTH = 22;

/**
 * Undoes Snappy, the framing format (what Collectors and gRPC libraries send) as well as a single block (Prometheus, newer
 * Collectors). Checksums are passed over: the connection has its own.
 * @see https://github.com/google/snappy format_description.txt and framing_format.txt
 * @throws RangeError when it comes to more than `maxBytes`, Error when it is no such data
 */
export function unsnapped(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const output = new BoundedOutput(4 * bytes.length, maxBytes);
  if (STREAM_IDENTIFIER.equals(bytes.subarray(0, STREAM_IDENTIFIER.length))) readChunks(bytes, output);
  else readBlock(bytes, maxBytes, output);
  return output.written;
}

function readChunks(bytes: Uint8Array, output: BoundedOutput): void {
  let from = 0;
  while (from < bytes.length) {
    const type = bytes[from] ?? 0;
    const begin = from + CHUNK_HEAD_BYTES;
    const end = begin + littleEndian(bytes, from + 1, 3);
    if (end > bytes.length) throw new Error("a chunk ends too early");
    if (type === CHUNK.compressed) {
      readBlock(bytes.subarray(begin + CHECKSUM_BYTES, end), MOST_CHUNK_BYTES, output);
    } else if (type === CHUNK.plain) {
      output.append(bytes, Math.min(end, begin + CHECKSUM_BYTES), end);
    } else if (type < CHUNK.firstSkippable) {
      throw new Error(`a chunk of type ${type}`);
    }
    from = end;
  }
}

function readBlock(bytes: Uint8Array, maxBytes: number, output: BoundedOutput): void {
  const [length, first] = readLength(bytes);
  if (length > MOST_GROWTH * bytes.length) throw new Error("it says that it is longer than it can be");
  if (length > maxBytes) throw new RangeError(`more than ${maxBytes} bytes`);
  const end = output.length + length;
  let at = first;
  while (at < bytes.length) at = readTag(bytes, at, output);
  if (output.length !== end) throw new Error("it is not as long as it says");
}

/** Literal bytes, or a reference to bytes before. @returns where the next one begins */
function readTag(bytes: Uint8Array, at: number, output: BoundedOutput): number {
  const tag = bytes[at] ?? 0;
  const upper = tag >>> 2;
  switch (tag & 3) {
    case 0: {
      const lengthBytes = Math.max(0, upper - 59);
      const from = at + 1 + lengthBytes;
      const to = from + 1 + (lengthBytes === 0 ? upper : littleEndian(bytes, at + 1, lengthBytes));
      output.append(bytes, from, to);
      return to;
    }
    case 1:
      output.repeat(((tag >>> 5) << 8) | (bytes[at + 1] ?? 0), 4 + (upper & 7));
      return at + 2;
    case 2:
      output.repeat(littleEndian(bytes, at + 1, 2), upper + 1);
      return at + 3;
    default:
      output.repeat(littleEndian(bytes, at + 1, 4), upper + 1);
      return at + 5;
  }
}

/** A varint of at most 32 bits, and where what follows begins. */
function readLength(bytes: Uint8Array): [length: number, next: number] {
  let length = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[index];
    if (byte === undefined) break;
    length += (byte & 127) * 128 ** index;
    if (byte < 128) return [length, index + 1];
  }
  throw new Error("its length does not end");
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let index = count - 1; index >= 0; index -= 1) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
