import { promisify } from "node:util";
import zlib from "node:zlib";
import { describeError } from "@tradewind/core/values/errors.ts";
import { unLz4 } from "./lz4.ts";
import { bodyTooLarge, malformed, Refusal } from "./refusal.ts";
import { RPC_CODE } from "./responses.ts";
import { unsnapped } from "./snappy.ts";

/** How a body is compressed. */
export type Compression = "deflate" | "gzip" | "lz4" | "none" | "snappy" | "zstd";

/** What HTTP's `content-encoding` and gRPC's `grpc-encoding` call them: all that a Collector's exporters send. */
const NAMES = new Map<string, Compression>([
  ["", "none"],
  ["identity", "none"],
  ["none", "none"],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["zlib", "deflate"],
  ["zstd", "zstd"],
  ["snappy", "snappy"],
  ["x-snappy-framed", "snappy"],
  ["lz4", "lz4"],
]);

/** For senders: what they may choose from. */
export const ACCEPTED = "identity,gzip,deflate,zstd,snappy,lz4";

type Decompress = (body: Uint8Array, maxBytes: number) => Promise<Uint8Array> | Uint8Array;

const unzip = promisify(zlib.gunzip);
const inflate = promisify(zlib.inflate);
const inflateRaw = promisify(zlib.inflateRaw);
/** Node.js has it from 22.15 on. */
const { zstdDecompress } = zlib as Partial<typeof zlib>;
const unzstd = zstdDecompress && promisify(zstdDecompress);
/** 16 MiB: as long as the longest body. The library would take 128 MiB because a small body says so. */
const MOST_WINDOW_LOG = 24;

const DECOMPRESS: Readonly<Record<Compression, Decompress | undefined>> = {
  none: (body) => body,
  gzip: async (body, maxOutputLength) => unzip(body, { maxOutputLength }),
  // HTTP means zlib by it (RFC 9110, 8.4.1.2); some clients leave its head out.
  deflate: async (body, maxOutputLength) =>
    hasZlibHead(body) ? inflate(body, { maxOutputLength }) : inflateRaw(body, { maxOutputLength }),
  zstd:
    unzstd &&
    (async (body, maxOutputLength) =>
      unzstd(body, {
        maxOutputLength,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: MOST_WINDOW_LOG },
      })),
  snappy: unsnapped,
  lz4: unLz4,
};

/** @param name of the encoding as its sender calls it; undefined: none @throws Refusal 415, UNIMPLEMENTED */
export function compressionOf(name: string | undefined): Compression {
  const compression = NAMES.get((name ?? "").trim().toLowerCase());
  if (compression === undefined)
    throw unsupportedEncoding(`encoding '${(name ?? "").slice(0, 32)}': send one of ${ACCEPTED}`);
  if (DECOMPRESS[compression] === undefined) throw withoutZstd();
  return compression;
}

/**
 * Undoes a compression; one that takes this thread's time is done when this returns.
 * @throws Refusal 400 or 413, also by the promise
 */
export function decompressed(
  body: Uint8Array,
  compression: Compression,
  maxBytes: number,
): Promise<Uint8Array> | Uint8Array {
  const refuse = (error: unknown): never => {
    if (error instanceof RangeError) throw bodyTooLarge("the decompressed body", maxBytes);
    throw malformed(`the body is not whole ${compression} data: ${describeError(error)}`, error);
  };
  const decompress = DECOMPRESS[compression];
  if (decompress === undefined) throw withoutZstd();
  try {
    const plain = decompress(body, maxBytes);
    return plain instanceof Promise ? plain.catch(refuse) : plain;
  } catch (error) {
    return refuse(error);
  }
}

const withoutZstd = (): Refusal =>
  unsupportedEncoding(
    `zstd needs Node.js 22.15 or newer, this is ${process.version}: send gzip, or run the predictor on a newer one`,
  );

const unsupportedEncoding = (message: string): Refusal =>
  new Refusal({ statusCode: 415, rpcCode: RPC_CODE.unimplemented, reason: "unsupported" }, message);

/** Deflate with a window of at most 32 KiB, and a check of the two bytes (RFC 1950). */
function hasZlibHead(body: Uint8Array): boolean {
  const [method = 0, flags = 0] = body;
  return (method & 0x0f) === 8 && method >>> 4 <= 7 && (256 * method + flags) % 31 === 0;
}
