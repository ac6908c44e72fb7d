/**
 * An id as 2·`bytes` hexadecimal digits. Stores write them as hexadecimal, with or without leading zeros (Jaeger), or
 * as base64 (Tempo's JSON form of protobuf); undefined when it is neither, or zero.
 */
export function hexId(text: unknown, bytes: number): string | undefined {
  if (typeof text !== "string" || text === "" || text.length > 64) return undefined;
  const hex = /^[0-9a-fA-F]+$/.test(text) ? shortened(text, bytes) : fromBase64(text, bytes);
  return hex === undefined || /^0*$/.test(hex) ? undefined : hex.toLowerCase().padStart(2 * bytes, "0");
}

/** Jaeger and Zipkin write ids of 64 and 128 bits alike; what is too long and not zeros in front is no id. */
function shortened(hex: string, bytes: number): string | undefined {
  if (hex.length <= 2 * bytes) return hex;
  const front = hex.slice(0, hex.length - 2 * bytes);
  return /^0+$/.test(front) ? hex.slice(-2 * bytes) : undefined;
}

function fromBase64(text: string, bytes: number): string | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined;
  const raw = Buffer.from(text, "base64");
  return raw.byteLength === bytes ? raw.toString("hex") : undefined;
}
