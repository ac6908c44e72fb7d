import { Crew } from "./crew.ts";
import type { Order, Report } from "./messages.ts";
import type { Finding, Target } from "./target.ts";

export interface CampaignOptions {
  readonly targets: readonly Target[];
  readonly seed: number;
  readonly workers: number;
  /** Ends after this time, or when every target has run `casesEach` cases. */
  readonly seconds: number;
  readonly casesEach: number;
  readonly onFinding: (finding: Finding) => void;
}

/** What came of one target so far. */
export interface Tally {
  readonly target: Target;
  cases: number;
  seconds: number;
  readonly findings: Finding[];
  /** Not to be ordered now: a worker has it, or it has broken too often. */
  busy: boolean;
}

const SLICE_MS = 2_000;
/** Findings after which a target is run no further. */
const MOST_FINDINGS = 5;

/** Runs all targets in turn on worker threads, so that each gets the same time. Ports stay with the first worker. */
export class Campaign {
  readonly tallies: readonly Tally[];
  private readonly options: CampaignOptions;
  private readonly endMs: number;
  private readonly seen = new Set<string>();
  private stopping = false;

  constructor(options: CampaignOptions) {
    this.options = options;
    this.endMs = performance.now() + 1e3 * options.seconds;
    this.tallies = options.targets.map((target) => ({
      target,
      cases: 0,
      seconds: 0,
      findings: [],
      busy: false,
    }));
  }

  get findings(): readonly Finding[] {
    return this.tallies.flatMap(({ findings }) => findings);
  }

  /** No further slice is begun. */
  stop(): void {
    this.stopping = true;
  }

  async run(): Promise<void> {
    const { workers } = this.options;
    await Promise.all(Array.from({ length: workers }, async (_, index) => this.serve(index)));
  }

  /** Keeps one worker busy, and replaces it when it is lost. */
  private async serve(index: number): Promise<void> {
    let crew: Crew | undefined;
    for (let tally = this.next(index); tally !== undefined; tally = this.next(index)) {
      if (crew === undefined || crew.isLost) crew = new Crew(this.options.seed);
      tally.busy = true;
      const report = await crew.run(this.orderFor(tally));
      tally.busy = false;
      this.take(tally, report);
    }
    await crew?.stop();
  }

  /** The target that has had the least time, among those that this worker may run. */
  private next(worker: number): Tally | undefined {
    if (this.stopping || performance.now() >= this.endMs) return undefined;
    const mayRun = ({ busy, cases, target }: Tally): boolean =>
      !busy && cases < this.options.casesEach && (worker === 0 || target.kind !== "port");
    return this.tallies.filter(mayRun).sort((a, b) => a.seconds - b.seconds)[0];
  }

  private orderFor({ cases, target }: Tally): Order {
    const ms = Math.min(SLICE_MS, this.endMs - performance.now());
    return { target: target.name, from: cases, count: this.options.casesEach - cases, ms };
  }

  private take(tally: Tally, report: Report): void {
    if ("failed" in report) throw new Error(`${report.target} cannot be run: ${report.failed}`);
    const { finding, ran, seconds } = report;
    tally.cases += ran;
    tally.seconds += seconds;
    if (finding !== undefined) this.found(tally, finding);
    if (tally.findings.length >= MOST_FINDINGS) tally.busy = true;
  }

  /** Counts a finding unless it is another case of one that is known. */
  private found(tally: Tally, finding: Finding): void {
    const words = finding.message.replaceAll(/\d+/g, "0").slice(0, 80);
    const signature = `${finding.target} ${finding.kind} ${words}`;
    if (this.seen.has(signature)) return;
    this.seen.add(signature);
    tally.findings.push(finding);
    this.options.onFinding(finding);
  }
}
