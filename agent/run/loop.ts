import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** What a cycle runs. */
export interface Cycle {
  /** Reads what is due, for at most `sliceMs`; true when all of it was read. */
  sample(sliceMs: number): boolean;
  /** All of it was read, which took so long. */
  sampled(durationMs: number): void;
}

/**
 * Time between cycles. Signals are due at times of their own, but waking up for each would cost more than the reads: what
 * falls due is read together, once a second, which is also the shortest interval of any signal.
 */
const CYCLE_MS = 1_000;
/** Part of the cycle by which it is moved at random, so that it does not lock onto periodic load. */
const JITTER = 0.05;
/** Reading stops after this long and goes on after waiting requests had their turn. */
const SLICE_MS = 20;

/** Runs cycles until it is stopped; returns how. A cycle that throws is logged, and the next one comes. */
export function startLoop(
  cycle: Cycle,
  { clock, log, rng }: { clock: Clock; log: Logger; rng: Rng },
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let isStopped = false;
  let startMs = 0;
  let spentMs = 0;
  const slice = (): void => {
    if (isStopped) return;
    const fromMs = clock.monotonicMs();
    let isDone = true;
    try {
      isDone = cycle.sample(SLICE_MS);
      spentMs += clock.monotonicMs() - fromMs;
      if (isDone) cycle.sampled(spentMs);
    } catch (error) {
      log.error(`sampling failed: ${describeError(error)}`);
    }
    if (isDone) rest();
    else immediate = setImmediate(slice);
  };
  const begin = (): void => {
    startMs = clock.monotonicMs();
    spentMs = 0;
    slice();
  };
  const rest = (): void => {
    if (isStopped) return;
    const nextMs = startMs + CYCLE_MS * (1 + JITTER * (2 * rng() - 1));
    timer = setTimeout(begin, Math.max(1, nextMs - clock.monotonicMs()));
  };
  begin();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}
