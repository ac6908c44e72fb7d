import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { InterferenceName } from "@tradewind/core/contract/interference.ts";
import type { InterferenceSeconds } from "@tradewind/core/contract/snapshot.ts";

/** Looks that are kept; a look is a time and an integral for each component. */
const LOOKS = 24;
const STRIDE = 1 + INTERFERENCE_COMPONENTS.length;
/** A window must be covered by looks to this share for their mean to stand for it. */
const COVERAGE = 0.5;

/**
 * The integral of interference over time as the snapshots told it, of one container. Its rise over a window is the mean in
 * it, however seldom the agent read the container itself.
 */
export class InterferenceTrace {
  private readonly looks = new Float64Array(LOOKS * STRIDE);
  private readonly spacingMs: number;
  private count = 0;
  private next = 0;

  /** @param keepSeconds how far back a mean may be asked for */
  constructor(keepSeconds: number) {
    this.spacingMs = (keepSeconds * 1e3) / (LOOKS - 4);
  }

  /** Keeps the newest look, and of the others what lies far enough apart. */
  add(atMs: number, seconds: InterferenceSeconds): void {
    const newestMs = this.count === 0 ? Number.NEGATIVE_INFINITY : this.timeAt(this.count - 1);
    if (atMs <= newestMs) return;
    const before = this.count < 2 ? Number.NEGATIVE_INFINITY : this.timeAt(this.count - 2);
    if (newestMs - before < this.spacingMs) this.next = (this.next + LOOKS - 1) % LOOKS;
    else this.count = Math.min(LOOKS, this.count + 1);
    const place = this.next * STRIDE;
    this.looks[place] = atMs;
    for (const [i, name] of INTERFERENCE_COMPONENTS.entries())
      this.looks[place + 1 + i] = seconds[name] ?? Number.NaN;
    this.next = (this.next + 1) % LOOKS;
  }

  /**
   * Mean of a component over [startMs, endMs), 0 to 1; undefined where the looks cover less than half of it or did not tell
   * the component.
   */
  mean(name: InterferenceName, startMs: number, endMs: number): number | undefined {
    if (this.count < 2) return undefined;
    const fromMs = Math.max(startMs, this.timeAt(0));
    const toMs = Math.min(endMs, this.timeAt(this.count - 1));
    if (toMs - fromMs < COVERAGE * (endMs - startMs)) return undefined;
    const component = 1 + INTERFERENCE_COMPONENTS.indexOf(name);
    const rise = this.integralAt(toMs, component) - this.integralAt(fromMs, component);
    const mean = (1e3 * rise) / (toMs - fromMs);
    return Number.isFinite(mean) ? Math.min(1, Math.max(0, mean)) : undefined;
  }

  /** Where the look lies that is `index`th, oldest first. */
  private placeOf(index: number): number {
    return ((this.next + LOOKS - this.count + index) % LOOKS) * STRIDE;
  }

  private timeAt(index: number): number {
    return this.looks[this.placeOf(index)] ?? Number.NaN;
  }

  /** The integral at a time between the first and the last look. */
  private integralAt(atMs: number, component: number): number {
    let after = 1;
    while (after < this.count - 1 && this.timeAt(after) < atMs) after += 1;
    const [a, b] = [this.placeOf(after - 1), this.placeOf(after)];
    const fromMs = this.looks[a] ?? Number.NaN;
    const share = (atMs - fromMs) / ((this.looks[b] ?? Number.NaN) - fromMs);
    const from = this.looks[a + component] ?? Number.NaN;
    return from + ((this.looks[b + component] ?? Number.NaN) - from) * share;
  }
}
