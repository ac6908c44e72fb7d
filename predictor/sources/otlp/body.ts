import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { describeError } from "@tradewind/core/errors.ts";
import type { ReceiverLimits } from "./limits.ts";
import { Refusal, malformed, overloaded, tooLarge } from "./refusal.ts";
import { RPC_CODE } from "./responses.ts";

/** Bytes that bodies in flight may hold together. */
export class ByteBudget {
  private taken = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** False, and nothing taken, when it would go over the limit. */
  take(bytes: number): boolean {
    if (this.taken + bytes > this.limit) return false;
    this.taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.taken -= bytes;
  }
}

type ContentEncoding = "identity" | "gzip";

/**
 * Receives a body and undoes its compression. What exceeds a limit is refused at once; the rest of it is read and
 * thrown away, so that the sender gets to see the answer.
 * @throws Refusal 400, 413, 415 or 503
 */
export async function readBody(
  request: IncomingMessage,
  limits: ReceiverLimits,
  budget: ByteBudget,
): Promise<Uint8Array> {
  const encoding = contentEncoding(request.headers["content-encoding"]);
  const limit = encoding === "gzip" ? limits.maxCompressedBytes : limits.maxBodyBytes;
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge("the body", limit);
  let held = 0;
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (held + chunk.length > limit) throw tooLarge("the body", limit);
      if (!budget.take(chunk.length)) throw overloaded();
      held += chunk.length;
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    return encoding === "gzip" ? inflated(body, limits.maxBodyBytes) : body;
  } catch (error) {
    request.resume();
    throw error instanceof Refusal ? error : malformed("the body did not arrive whole", error);
  } finally {
    budget.give(held);
  }
}

/** @throws Refusal 400 or 413 */
export function inflated(body: Uint8Array, maxBytes: number): Uint8Array {
  try {
    // Synchronous on purpose: one body is inflated at a time, so the bound holds for all of them together.
    return gunzipSync(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge("the decompressed body", maxBytes);
    throw malformed(`the body is not whole gzip data: ${describeError(error)}`, error);
  }
}

function contentEncoding(header: string | undefined): ContentEncoding {
  const encoding = (header ?? "identity").trim().toLowerCase();
  if (encoding === "gzip" || encoding === "identity") return encoding;
  throw new Refusal(
    415,
    RPC_CODE.invalidArgument,
    `content encoding '${encoding.slice(0, 32)}': send gzip or none`,
  );
}
