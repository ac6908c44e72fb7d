/** Growth of the evidence after which a training that came to nothing new is tried again. */
const GROWTH = 1.25;

/** What is remembered of the trainings of one model: how long ago, from how much, and what went wrong. */
export class Tries {
  /** On the monotonic clock. */
  lastTriedMs: number | undefined;
  private readonly mostNewRows: number;
  private rowsThen: number | undefined;
  private failure: string | undefined;

  /** @param mostNewRows so many new rows are always worth another training */
  constructor(mostNewRows: number) {
    this.mostNewRows = mostNewRows;
  }

  /** A training begins, or has just ended. */
  tried(nowMs: number): void {
    this.lastTriedMs = nowMs;
  }

  /** @returns whether it failed for another reason than the last one: only then it is news */
  failed(why: string): boolean {
    const isNews = why !== this.failure;
    this.failure = why;
    return isNews;
  }

  /** A training came to its end, with a new model or without. @param rows known when it began */
  ended(rows: number): void {
    this.failure = undefined;
    this.rowsThen = rows;
  }

  /** What was learnt no longer counts: as if no training had come to its end. */
  restart(): void {
    this.rowsThen = undefined;
  }

  /** A training came to its end. */
  get hasEnded(): boolean {
    return this.rowsThen !== undefined;
  }

  /** Enough rows have come since the last training that came to its end, for another one on that account. */
  hasGrown(rows: number): boolean {
    const { rowsThen } = this;
    return rowsThen === undefined || rows >= Math.min(GROWTH * rowsThen, rowsThen + this.mostNewRows);
  }
}
