/** Runs pieces of work one after the other, in the order in which they came. */
export class InOrder {
  private last: Promise<void> = Promise.resolve();

  /** Work must handle its own errors: one that escapes does not stop what follows. */
  add(work: () => Promise<void>): void {
    this.last = this.last.then(work).catch(() => undefined);
  }

  /** Resolves when all work that was added so far is done. */
  async settled(): Promise<void> {
    await this.last;
  }
}
