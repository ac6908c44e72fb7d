import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { threadCpuMs } from "@tradewind/core/net/cost-meter.ts";
import { TradewindError, describeError } from "@tradewind/core/values/errors.ts";
import type { Admission, Call } from "./admission.ts";
import { decompressed } from "./compression.ts";
import type { Compression } from "./compression.ts";
import type { ReceiverLimits } from "./limits.ts";
import { malformed, overloaded, tooLarge } from "./refusal.ts";
import { SenderTurns } from "./turns.ts";

/** A span has 40 bytes of ids and times that no compression makes smaller: a body that grows by a larger factor holds none. */
const MOST_EXPANSION = 128;
const FREE_PLAIN_BYTES = 2 ** 20;

/** A body as it was sent. */
export interface SentBody {
  readonly bytes: Uint8Array;
  readonly compression: Compression;
  /** Once decompressed. */
  readonly maxBytes: number;
  /** The only namespaces that its sender may tell of; absent: all. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Reads a body, and pauses wherever others may have their turn. */
export interface BodyReading<Taken> {
  readonly steps: Generator<void, Taken>;
  /** Spans, or other parts of their kind, that it came to so far: what its sender is charged for. */
  count(): number;
}

/** Others get their turn on the event loop after so long. */
const SLICE_MS = 8;

export interface BodyWorkOptions {
  readonly clock: Clock;
  readonly limits: ReceiverLimits;
  readonly admission: Admission;
}

/**
 * Reads one body after another, in slices between which the process does its other work. Senders take turns, and each is charged
 * for what its bodies cost.
 */
export class BodyWork {
  private readonly turns = new SenderTurns();
  private readonly options: BodyWorkOptions;
  private sliceEndMs = 0;
  /** Undefined between slices. */
  private sliceCpuMs: number | undefined;
  /** CPU time spent on the body in hand. */
  private workMs = 0;

  constructor(options: BodyWorkOptions) {
    this.options = options;
  }

  /** @throws Refusal 400, 413, 429 or 503 */
  async read<Taken>(
    body: SentBody,
    call: Call,
    reading: (bytes: Uint8Array) => BodyReading<Taken>,
  ): Promise<Taken> {
    const { clock, limits } = this.options;
    call.signal.throwIfAborted();
    const giveUpMs = clock.monotonicMs() + limits.requestTimeoutMs;
    return this.turns.run(call.sender, async () => {
      call.signal.throwIfAborted();
      if (clock.monotonicMs() > giveUpMs) {
        throw overloaded("calls", "others were served for too long", limits.retryAfterSeconds);
      }
      this.options.admission.refuseTooFast(call.sender);
      return this.readNow(body, call, reading);
    });
  }

  private async readNow<Taken>(
    body: SentBody,
    call: Call,
    reading: (bytes: Uint8Array) => BodyReading<Taken>,
  ): Promise<Taken> {
    const { admission, clock } = this.options;
    let { bytes } = body;
    let current: BodyReading<Taken> | undefined;
    this.workMs = 0;
    this.beginSlice();
    try {
      const mostBytes = Math.min(body.maxBytes, FREE_PLAIN_BYTES + MOST_EXPANSION * bytes.length);
      const plain = decompressed(bytes, body.compression, mostBytes);
      // What a thread of its own undoes is counted by its bytes.
      this.endSlice();
      bytes = await plain;
      this.beginSlice();
      current = reading(bytes);
      return await this.inSlices(current.steps);
    } finally {
      this.endSlice();
      const cost = { bytes: bytes.length, spans: current?.count() ?? 0, workSeconds: this.workMs / 1e3 };
      admission.rates.charge(call.sender, cost, clock.monotonicMs());
    }
  }

  private async inSlices<Taken>(steps: Generator<void, Taken>): Promise<Taken> {
    try {
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
        await this.pauseWhenDue();
      }
    } finally {
      steps.return(undefined as never);
    }
  }

  private async pauseWhenDue(): Promise<void> {
    const { clock } = this.options;
    if (clock.monotonicMs() < this.sliceEndMs) return;
    this.endSlice();
    await nextTurn();
    this.beginSlice();
  }

  private beginSlice(): void {
    this.sliceEndMs = this.options.clock.monotonicMs() + SLICE_MS;
    this.sliceCpuMs = threadCpuMs();
  }

  private endSlice(): void {
    if (this.sliceCpuMs !== undefined) this.workMs += threadCpuMs() - this.sliceCpuMs;
    this.sliceCpuMs = undefined;
  }
}

/** Decodes a body. @throws Refusal 400 when it is none of its kind, 413 when it holds too much */
export function* decoding(steps: Generator<void>): Generator<void> {
  try {
    yield* steps;
  } catch (error) {
    const message = error instanceof TradewindError ? error.message : describeError(error);
    const isTooLarge = error instanceof TradewindError && error.code === "too-many-spans";
    throw isTooLarge ? tooLarge(message) : malformed(message, error);
  }
}
