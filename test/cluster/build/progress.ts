const EVERY_MS = 15_000;

/** Counts the packages that `go build -v` names, and says from time to time how many are left. */
export class Progress {
  private readonly total: number;
  private readonly report: (line: string) => void;
  private readonly nowMs: () => number;
  private readonly startedMs: number;
  private saidMs: number;
  private done = 0;

  constructor(total: number, report: (line: string) => void, nowMs: () => number = () => performance.now()) {
    this.total = total;
    this.report = report;
    this.nowMs = nowMs;
    this.startedMs = nowMs();
    this.saidMs = this.startedMs;
  }

  /** A line of `go build -v`: the import path of a package whose compiling begins, or something else. */
  line(line: string): void {
    if (/^[\w.-]+(\/[\w.~-]+)*$/.test(line)) this.done += 1;
    const nowMs = this.nowMs();
    if (nowMs - this.saidMs < EVERY_MS) return;
    this.saidMs = nowMs;
    this.report(this.say(nowMs - this.startedMs));
  }

  private say(elapsedMs: number): string {
    const counted = `${Math.min(this.done, this.total)} of ${this.total} packages in ${duration(elapsedMs)}`;
    const left = this.total - this.done;
    if (left <= 0) return `${counted}, linking`;
    // Packages differ in size, so this is rough, and of a few it would be a guess.
    if (this.done < this.total / 20) return counted;
    return `${counted}, about ${duration((elapsedMs / this.done) * left)} left`;
  }
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
