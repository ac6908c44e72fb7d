import type { Logger } from "./log.ts";

/** A start, a rolling update and a restart of something else bring problems along that pass within this time. ms */
const LASTING_MS = 30_000;

/** Logs a problem that is found again and again: as information when it begins, as a warning once it has lasted. */
export class LastingProblem {
  readonly #log: Pick<Logger, "info" | "warn">;
  readonly #monotonicMs: () => number;
  readonly #lastingMs: number;
  #sinceMs: number | undefined;
  #logged = "";

  /** @param lastingMs how long it may be there without a warning */
  constructor(log: Pick<Logger, "info" | "warn">, monotonicMs: () => number, lastingMs = LASTING_MS) {
    this.#log = log;
    this.#monotonicMs = monotonicMs;
    this.#lastingMs = lastingMs;
  }

  /**
   * Call it whenever the problem is found.
   * @param kind the problem is logged again when this changes
   */
  found(kind: string, facts: Readonly<Record<string, unknown>>, message: string): void {
    const nowMs = this.#monotonicMs();
    this.#sinceMs ??= nowMs;
    const level = nowMs - this.#sinceMs < this.#lastingMs ? "info" : "warn";
    const logged = `${level} ${kind}`;
    if (logged === this.#logged) return;
    this.#logged = logged;
    this.#log[level](facts, message);
  }

  /** @returns whether there was a problem */
  over(): boolean {
    const wasThere = this.#sinceMs !== undefined;
    this.#sinceMs = undefined;
    this.#logged = "";
    return wasThere;
  }
}
