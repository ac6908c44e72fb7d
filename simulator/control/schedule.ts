interface Task {
  readonly periodMs: number;
  nextMs: number;
  readonly run: (nowMs: number) => void | Promise<void>;
}

/** Things to be done in virtual time. Tasks due at the same moment run in the order in which they were added. */
export class Schedule {
  private tasks: Task[] = [];

  /** @param firstMs when it runs first; then every `periodMs` */
  every(periodMs: number, firstMs: number, run: Task["run"]): void {
    this.tasks.push({ periodMs, nextMs: firstMs, run });
  }

  once(atMs: number, run: Task["run"]): void {
    this.tasks.push({ periodMs: Infinity, nextMs: atMs, run });
  }

  /** Infinity when nothing is left to do. */
  get nextMs(): number {
    return this.tasks.reduce((least, { nextMs }) => Math.min(least, nextMs), Infinity);
  }

  /** Runs what is due at `nextMs`. */
  async runNext(): Promise<void> {
    const nowMs = this.nextMs;
    for (const task of this.tasks.filter(({ nextMs }) => nextMs === nowMs)) {
      task.nextMs += task.periodMs;
      const running = task.run(nowMs);
      if (running !== undefined) await running;
    }
    this.tasks = this.tasks.filter(({ nextMs }) => nextMs < Infinity);
  }
}
