/** Work that is done one after the other, in the order in which it came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Rejects as the work does; what comes after it has its turn all the same. */
  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
