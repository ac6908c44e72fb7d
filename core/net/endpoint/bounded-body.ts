import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { EndpointError } from "./error.ts";

const gunzipAsync = promisify(gunzip);

function tooLarge(where: string, maxBytes: number): EndpointError {
  return new EndpointError(
    "too-large",
    `${where}: the answer is larger than ${maxBytes} bytes`,
    "ask for fewer series or a shorter range, or raise maxResponseBytes",
  );
}

/**
 * Reads a body, compressed or not, of at most `maxBytes` (before and after decompression).
 * @throws EndpointError `too-large`; `bad-reply` when it does not decompress
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
  maxBytes: number,
  where: string,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(where, maxBytes);
    chunks.push(chunk);
  }
  const raw = Buffer.concat(chunks, bytes);
  if (encoding !== "gzip") return raw;
  try {
    return await gunzipAsync(raw, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(where, maxBytes);
    throw new EndpointError(
      "bad-reply",
      `${where}: the answer does not decompress`,
      "check what stands between",
      {
        cause: error,
      },
    );
  }
}
