import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import zlib from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compressionOf, decompressed } from "../../../../predictor/sources/otlp/compression.ts";
import type { Compression } from "../../../../predictor/sources/otlp/compression.ts";
import { Refusal } from "../../../../predictor/sources/otlp/refusal.ts";

/** What the libraries of the Collector's exporters write: golang/snappy, pierrec/lz4 and klauspost/compress. */
const FIXTURES = join(import.meta.dirname, "../../../fixtures/compressed");
const fixture = (name: string): Buffer => readFileSync(join(FIXTURES, name));
const PLAIN = fixture("text");
const MIB = 2 ** 20;

const plainOf = async (bytes: Uint8Array, name: string, maxBytes = 16 * MIB): Promise<Buffer> =>
  Buffer.from(await decompressed(bytes, compressionOf(name), maxBytes));

async function refusalOf(bytes: Uint8Array, name: string, maxBytes = MIB): Promise<Refusal> {
  try {
    await decompressed(bytes, compressionOf(name), maxBytes);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("it was taken");
}

/** A snappy block that says `length` and then refers `count` times to 64 bytes before. */
function repeating(length: number, count: number): Buffer {
  const head: number[] = [];
  for (let left = length; ; left >>>= 7) {
    head.push(left < 128 ? left : (left & 127) | 128);
    if (left < 128) break;
  }
  const literal = [60 << 2, 63, ...Array.from({ length: 64 }, (_, index) => index)];
  const references = Array.from({ length: count }, () => [(63 << 2) | 2, 64, 0]).flat();
  return Buffer.from([...head, ...literal, ...references]);
}

describe("a compressed body", () => {
  it.each([
    { name: "", bytes: PLAIN },
    { name: "identity", bytes: PLAIN },
    { name: "none", bytes: PLAIN },
    { name: "gzip", bytes: zlib.gzipSync(PLAIN) },
    { name: "x-gzip", bytes: zlib.gzipSync(PLAIN) },
    { name: "GZIP", bytes: zlib.gzipSync(PLAIN) },
    { name: "deflate", bytes: zlib.deflateSync(PLAIN) },
    { name: "zlib", bytes: zlib.deflateSync(PLAIN) },
    { name: "zstd", bytes: fixture("text.zstd") },
    { name: "snappy", bytes: fixture("text.snappy") },
    { name: "snappy", bytes: fixture("text.snappy-framed") },
    { name: "x-snappy-framed", bytes: fixture("text.snappy-framed") },
    { name: "lz4", bytes: fixture("text.lz4") },
  ])("called '$name' is read", async ({ bytes, name }) => {
    expect((await plainOf(bytes, name)).equals(PLAIN)).toBe(true);
  });

  it("called deflate is read without the head of zlib, as some clients send it", async () => {
    expect((await plainOf(zlib.deflateRawSync(PLAIN), "deflate")).equals(PLAIN)).toBe(true);
  });

  it("of an unknown kind is refused with what may be sent", () => {
    expect(() => compressionOf("br")).toThrow(
      "encoding 'br': send one of identity,gzip,deflate,zstd,snappy,lz4",
    );
  });

  it.each(["gzip", "deflate", "zstd", "snappy", "lz4"])(
    "cut short or followed by other bytes is malformed or whole, never a failure of the receiver: %s",
    async (name) => {
      const whole =
        name === "gzip"
          ? zlib.gzipSync(PLAIN)
          : name === "deflate"
            ? zlib.deflateSync(PLAIN)
            : fixture(`text.${name}`);
      for (const bytes of [
        whole.subarray(0, whole.length >> 1),
        randomBytes(200),
        Buffer.concat([whole, whole]),
      ]) {
        const outcome = await plainOf(bytes, name).catch((error: unknown) => error);
        const isMalformed = outcome instanceof Refusal && outcome.statusCode === 400;
        expect(isMalformed || outcome instanceof Uint8Array).toBe(true);
      }
    },
  );

  it.each([
    { name: "gzip", bytes: zlib.gzipSync(Buffer.alloc(64 * MIB)) },
    { name: "deflate", bytes: zlib.deflateSync(Buffer.alloc(64 * MIB)) },
    { name: "zstd", bytes: zlib.zstdCompressSync(Buffer.alloc(64 * MIB)) },
    { name: "snappy", bytes: repeating(2 * MIB, (2 * MIB) / 64 - 1) },
    {
      name: "lz4",
      bytes: lz4Of(
        Buffer.concat([Buffer.from([0x1f, 0, 1, 0]), Buffer.alloc(20_000, 255), Buffer.from([0])]),
      ),
    },
  ])("that grows beyond the limit is refused as too large: $name", async ({ bytes, name }) => {
    expect(await refusalOf(bytes, name)).toMatchObject({ statusCode: 413, reason: "size" });
  });

  it("of zstd is refused when it asks for a window larger than the largest body", async () => {
    const params = { [zlib.constants.ZSTD_c_windowLog]: 27, [zlib.constants.ZSTD_c_contentSizeFlag]: 0 };
    const chunks: Buffer[] = [];
    const stream = zlib.createZstdCompress({ params });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    const ended = new Promise((resolve) => stream.once("end", resolve));
    stream.write(PLAIN);
    stream.end();
    await ended;
    expect(await refusalOf(Buffer.concat(chunks), "zstd")).toMatchObject({ statusCode: 400 });
  });

  it("of Snappy that says it is longer than it can be costs no memory", async () => {
    const claim = Buffer.from([0x80, 0x80, 0x80, 0x08, 0x00, 0x61]);
    expect(await refusalOf(claim, "snappy", 64 * MIB)).toMatchObject({ statusCode: 400 });
  });

  it.each<Compression>(["snappy", "lz4"])("of any bytes is read or malformed: %s", async (compression) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(), async (bytes, place) => {
        const changed = Buffer.from(fixture(`text.${compression}`));
        changed[place % changed.length] = bytes[0] ?? 0;
        for (const body of [bytes, changed]) {
          const outcome = await plainOf(body, compression).catch((error: unknown) => error);
          expect(outcome instanceof Uint8Array || outcome instanceof Refusal).toBe(true);
        }
      }),
    );
  });
});

/** One frame with one compressed block. */
function lz4Of(block: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(block.length);
  return Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0]), size, block, Buffer.alloc(4)]);
}
