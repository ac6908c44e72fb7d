import type { SpanBatch } from "../../window/span.ts";

/** Reads spans of one form of body into a batch. */
export interface SpanDecoder {
  /**
   * Appends the spans of `body` to `batch`, whose epoch is set already, and yields now and then so that the caller may let others
   * work.
   * @throws TradewindError `too-many-spans`, or any error where the body is none of its kind; the batch then holds a part of it
   */
  steps(body: Uint8Array, batch: SpanBatch): Generator<void>;
  /** Parts of the body decoded last that were passed over because they are not understood. */
  readonly notUnderstood?: ReadonlySet<string>;
}
