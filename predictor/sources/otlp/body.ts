import type { Readable } from "node:stream";
import type { Call } from "./admission.ts";
import type { ReceiverLimits } from "./limits.ts";
import { Refusal, bodyTooLarge, malformed, tooSlow } from "./refusal.ts";

/**
 * Receives a body of at most `maxBytes`; every byte is held by the call. The stream is left as it is when the body is
 * refused: what becomes of the rest is the owner's to decide.
 * @throws Refusal 400, 408, 413 or 503
 */
export async function readBody(
  stream: Readable,
  call: Call,
  maxBytes: number,
  limits: Pick<ReceiverLimits, "bodyIdleMs" | "requestTimeoutMs">,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBytes) throw bodyTooLarge("the body", maxBytes);
    call.hold(chunk.length);
    chunks.push(chunk);
  };
  await received(stream, call.signal, take, limits);
  call.whole();
  return Buffer.concat(chunks);
}

async function received(
  stream: Readable,
  signal: AbortSignal,
  take: (chunk: Buffer) => void,
  { bodyIdleMs, requestTimeoutMs }: Pick<ReceiverLimits, "bodyIdleMs" | "requestTimeoutMs">,
): Promise<void> {
  const ending = new AbortController();
  const whole = setTimeout(
    () => ending.abort(late(requestTimeoutMs, "the body is not whole")),
    requestTimeoutMs,
  );
  const idle = setTimeout(() => ending.abort(late(bodyIdleMs, "no byte of the body came")), bodyIdleMs);
  try {
    await new Promise<void>((resolve, reject) => {
      const { signal: ended } = ending;
      const fail = (reason: unknown): void => {
        stream.pause();
        reject(reason instanceof Refusal ? reason : malformed("the body did not arrive whole", reason));
      };
      const abort = (reason: unknown): void => ending.abort(reason);
      stream.on("data", (chunk: Buffer) => {
        if (ended.aborted) return;
        idle.refresh();
        try {
          take(chunk);
        } catch (error) {
          abort(error);
        }
      });
      stream
        .once("end", resolve)
        .once("error", abort)
        .once("close", () => abort(undefined));
      ended.addEventListener("abort", () => fail(ended.reason), { once: true });
      if (signal.aborted) abort(signal.reason);
      else signal.addEventListener("abort", () => abort(signal.reason), { once: true });
    });
  } finally {
    clearTimeout(whole);
    clearTimeout(idle);
  }
}

const late = (ms: number, what: string): Refusal => tooSlow(`${what} within ${ms} ms`);

/** @throws Refusal 413 */
export function refuseTooLarge(declaredBytes: number, maxBytes: number): void {
  if (declaredBytes > maxBytes) throw bodyTooLarge("the body", maxBytes);
}
