/**
 * `fidelity`: how far the simulator is from the local platform.
 *
 * For each application the CPU of a request is measured at one rate, and nothing else is fitted. Other rates, one of them past
 * saturation, are then run for real, each twice, and simulated: `error` is |simulated − real| / real of p50, p95, p99 and
 * throughput, `noise` the same between the two real runs. Policies are run on the application's own load in both: Kendall's
 * tau says how far the order by requests over the objective, and by cores, is the same.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APPLICATION_NAMES } from "@tradewind/local/application/applications.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import type { MeasuredCost } from "./local-plant.ts";
import { realRun } from "./real-run.ts";
import type { Figures, RealSetting } from "./real-run.ts";
import { COMPARED_POLICIES, simulatedFigures, simulatedPolicy } from "./simulated-run.ts";
import { kendallTau, relativeError } from "./statistics.ts";

interface Plan {
  readonly calibrationRate: number;
  /** Requests per second that the calibration has not seen; the last is more than the entry service can serve. */
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly policies: readonly string[];
  readonly policySeconds: number;
}

const FULL: Plan = {
  calibrationRate: 30,
  rates: [15, 45, 60, 75, 120],
  seconds: 45,
  policies: COMPARED_POLICIES,
  policySeconds: 150,
};
const QUICK: Plan = {
  calibrationRate: 30,
  rates: [50],
  seconds: 20,
  policies: ["static", "hpa:60"],
  policySeconds: 30,
};

const errorsOf = (a: Figures, b: Figures): Figures => ({
  p50Ms: relativeError(a.p50Ms, b.p50Ms),
  p95Ms: relativeError(a.p95Ms, b.p95Ms),
  p99Ms: relativeError(a.p99Ms, b.p99Ms),
  throughput: relativeError(a.throughput, b.throughput),
});

class Bench {
  private readonly scratch = mkdtempSync(join(tmpdir(), "tradewind-fidelity-"));
  private readonly options: BenchmarkOptions;
  private readonly plan: Plan;
  private left: number;
  private runs = 0;

  constructor(options: BenchmarkOptions) {
    this.options = options;
    this.plan = options.quick ? QUICK : FULL;
    const { policies, policySeconds, rates, seconds } = this.plan;
    const perApplication = (1 + 2 * rates.length) * seconds + policies.length * policySeconds;
    this.left = APPLICATION_NAMES.length * perApplication;
  }

  close(): void {
    rmSync(this.scratch, { recursive: true, force: true });
  }

  async application(application: string): Promise<Record<string, unknown>> {
    const { calibrationRate, policies, policySeconds, rates, seconds } = this.plan;
    const { seed } = this.options;
    const base = { application, policy: "static", seconds, seed };
    const { cost } = await this.real({ ...base, requestsPerSecond: calibrationRate });
    const settings: Record<string, unknown>[] = [];
    for (const requestsPerSecond of rates)
      settings.push(await this.setting({ ...base, requestsPerSecond }, cost));
    const ranked: { policy: string; real: Score; simulated: Score }[] = [];
    for (const policy of policies) {
      const setting = { application, policy, seconds: policySeconds, seed };
      const { cores, requestsOver } = await this.real(setting);
      ranked.push({ policy, real: { cores, requestsOver }, simulated: await simulatedPolicy(setting, cost) });
    }
    const tau = (value: (score: Score) => number): number =>
      kendallTau(
        ranked.map(({ real }) => value(real)),
        ranked.map(({ simulated }) => value(simulated)),
      );
    return {
      application,
      cpuSecondsPerRequest: Object.fromEntries(cost),
      settings,
      policies: ranked,
      tau: { requestsOver: tau((score) => score.requestsOver), cores: tau((score) => score.cores) },
    };
  }

  private async setting(setting: RealSetting, cost: MeasuredCost): Promise<Record<string, unknown>> {
    const first = await this.real(setting);
    const second = await this.real({ ...setting, seed: setting.seed });
    const simulated = simulatedFigures(setting, cost);
    return {
      requestsPerSecond: setting.requestsPerSecond,
      real: [first.figures, second.figures],
      simulated,
      error: errorsOf(simulated, first.figures),
      noise: errorsOf(second.figures, first.figures),
    };
  }

  private async real(setting: RealSetting) {
    this.runs += 1;
    const { application, policy, requestsPerSecond } = setting;
    const load = requestsPerSecond === undefined ? "its own load" : `${requestsPerSecond} requests/s`;
    this.options.progress(`${application}, ${policy}, ${load}; about ${Math.ceil(this.left / 60)} min left`);
    this.left -= setting.seconds;
    return realRun(setting, this.scratch, `run-${this.runs}`);
  }
}

interface Score {
  readonly requestsOver: number;
  readonly cores: number;
}

export const benchmark: Benchmark = {
  summary: "how far the simulator is from the local platform: percentiles, throughput, order of policies",
  async run(options) {
    const bench = new Bench(options);
    try {
      const applications: Record<string, unknown>[] = [];
      for (const name of APPLICATION_NAMES) applications.push(await bench.application(name));
      return { applications };
    } finally {
      bench.close();
    }
  },
};
