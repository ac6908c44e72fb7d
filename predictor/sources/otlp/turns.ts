/** Runs one task at a time. Senders take turns, so that one with many tasks does not hold up another with few. */
export class SenderTurns {
  /** By sender, in the order of their turns. */
  private readonly waiting = new Map<string, (() => void)[]>();
  private isBusy = false;

  async run<Result>(sender: string, task: () => Promise<Result>): Promise<Result> {
    if (this.isBusy) await this.turn(sender);
    this.isBusy = true;
    try {
      return await task();
    } finally {
      this.next();
    }
  }

  private async turn(sender: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const own = this.waiting.get(sender);
      if (own === undefined) this.waiting.set(sender, [resolve]);
      else own.push(resolve);
    });
  }

  /** Whoever waits starts at once, before a newcomer can. */
  private next(): void {
    const first = this.waiting.entries().next();
    if (first.done === true) {
      this.isBusy = false;
      return;
    }
    const [sender, tasks] = first.value;
    this.waiting.delete(sender);
    const start = tasks.shift();
    if (tasks.length > 0) this.waiting.set(sender, tasks);
    start?.();
  }
}
