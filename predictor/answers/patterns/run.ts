/** So many windows in a row show a failure pattern: one is chance. */
export const LEAST_RUN = 3;

/** Windows in a row that show something. */
export interface Run {
  readonly windows: number;
  readonly sinceMs: number;
}

/** Each further window halves the doubt: 0.88 of three. */
export const confidenceOfRun = ({ windows }: Run): number => Math.min(0.99, 1 - 0.5 ** windows);

/** Runs by what they are of, bounded: whoever sends spans makes names up. */
export class Runs {
  readonly #runs = new Map<string, Run>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** @param shows whether the window shows it; undefined: it does not tell, and the run neither grows nor ends */
  note(key: string, shows: boolean | undefined, startMs: number): Run | undefined {
    const before = this.#runs.get(key);
    if (shows === undefined) return before;
    if (!shows || (before === undefined && this.#runs.size >= this.#most)) {
      this.#runs.delete(key);
      return undefined;
    }
    const run = { windows: (before?.windows ?? 0) + 1, sinceMs: before?.sinceMs ?? startMs };
    this.#runs.set(key, run);
    return run;
  }

  /** Ends the runs of what is gone. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#runs.keys()) if (!keys.has(key)) this.#runs.delete(key);
  }

  clear(): void {
    this.#runs.clear();
  }
}
