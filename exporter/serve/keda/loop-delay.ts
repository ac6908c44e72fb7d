import { monitorEventLoopDelay } from "node:perf_hooks";

/** How long what is due waits for this thread. */
export class LoopDelay {
  readonly #loop = monitorEventLoopDelay({ resolution: 20 });

  constructor() {
    this.#loop.enable();
  }

  /** @returns the 99th percentile since it was taken last, s; undefined when nothing was measured since */
  takeSeconds(): number | undefined {
    const seconds = this.#loop.percentile(99) / 1e9;
    const isMeasured = this.#loop.count > 0;
    this.#loop.reset();
    return isMeasured && Number.isFinite(seconds) ? seconds : undefined;
  }

  stop(): void {
    this.#loop.disable();
  }
}
