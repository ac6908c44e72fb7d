import type { Completeness } from "./completeness.ts";
import type { WindowLimits } from "./limits.ts";

/** Delays are looked at this often. ms */
const LEARN_MS = 1_000;
/** Services that are no entry are waited for up to this, unless an entry's spans come as late. */
const MOST_OF_OTHERS_SECONDS = 15;

/** How long after the end of a window its spans are waited for: longer than configured where they come later, up to a limit. */
export class ArrivalWait {
  private readonly limits: Pick<WindowLimits, "maxGraceSeconds" | "traceGraceSeconds">;
  private readonly completeness: Completeness;
  private readonly isEntry: (service: number) => boolean | undefined;
  private learntMs = -Infinity;
  seconds: number;

  /** @param isEntry undefined for a service that is not the application's */
  constructor(
    limits: Pick<WindowLimits, "maxGraceSeconds" | "traceGraceSeconds">,
    completeness: Completeness,
    isEntry: (service: number) => boolean | undefined,
  ) {
    this.limits = limits;
    this.completeness = completeness;
    this.isEntry = isEntry;
    this.seconds = limits.traceGraceSeconds;
  }

  /** Grows as soon as spans come later. @param shortestSeconds it is not shortened below this */
  learn(nowMs: number, shortestSeconds = this.seconds): void {
    if (Math.abs(nowMs - this.learntMs) < LEARN_MS && shortestSeconds === this.seconds) return;
    this.learntMs = nowMs;
    const { maxGraceSeconds, traceGraceSeconds } = this.limits;
    if (maxGraceSeconds <= traceGraceSeconds) return;
    const limits = {
      leastSeconds: traceGraceSeconds,
      mostSeconds: maxGraceSeconds,
      mostOfOthersSeconds: MOST_OF_OTHERS_SECONDS,
    };
    this.seconds = Math.max(shortestSeconds, this.completeness.waitSeconds(limits, this.isEntry));
  }
}
