/**
 * `fidelity`: how far the simulator is from the local platform.
 *
 * For each application the CPU of one more request is measured by two rates, and nothing else is fitted. Other rates, one of them
 * past saturation, are then run for real, each twice, and simulated: `error` is |simulated − real| / real of p50, p95, p99 and
 * throughput, `noise` the same between the two real runs. Policies are run on the application's own load in both: Kendall's
 * tau says how far the order by requests over the objective, and by cores, is the same.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APPLICATION_NAMES } from "@tradewind/local/application/applications.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { costBetween } from "./local-plant.ts";
import type { MeasuredCost } from "./local-plant.ts";
import { realRun } from "./real-run.ts";
import type { Figures, MeasuredUse, RealSetting } from "./real-run.ts";
import { COMPARED_POLICIES, simulatedFigures, simulatedPolicy } from "./simulated-run.ts";
import { kendallTau, relativeError } from "../statistics.ts";

interface Plan {
  readonly calibrationRates: readonly [slow: number, fast: number];
  /** Requests per second that the calibration has not seen; the last is more than the entry service can serve. */
  readonly rates: readonly number[];
  readonly seconds: number;
  readonly policies: readonly string[];
  readonly policySeconds: number;
}

/** About 25 minutes with the starts of the platform. */
const FULL: Plan = {
  calibrationRates: [30, 90],
  rates: [15, 60, 120, 240],
  seconds: 20,
  policies: COMPARED_POLICIES,
  policySeconds: 60,
};
const QUICK: Plan = {
  calibrationRates: [30, 90],
  rates: [50],
  seconds: 20,
  policies: ["static", "hpa:60"],
  policySeconds: 30,
};

/** Long enough for some windows after those in which processes warm up. */
const CALIBRATION_SECONDS = 40;

/** Run once more for real, so that its two scores can be compared. */
const REPEATED = "hpa:60";

const errorsOf = (a: Figures, b: Figures): Figures => ({
  p50Ms: relativeError(a.p50Ms, b.p50Ms),
  p95Ms: relativeError(a.p95Ms, b.p95Ms),
  p99Ms: relativeError(a.p99Ms, b.p99Ms),
  throughput: relativeError(a.throughput, b.throughput),
});

function averageOf(all: readonly Figures[]): Figures {
  const mean = (value: (figures: Figures) => number): number =>
    all.reduce((sum, figures) => sum + value(figures), 0) / all.length;
  return {
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p95Ms: mean(({ p95Ms }) => p95Ms),
    p99Ms: mean(({ p99Ms }) => p99Ms),
    throughput: mean(({ throughput }) => throughput),
  };
}

/** One rate, for real and simulated. */
interface Setting {
  readonly requestsPerSecond: number;
  readonly real: readonly [Figures, Figures];
  readonly simulated: Figures;
  readonly error: Figures;
  readonly noise: Figures;
}

/** From here on a rate counts as served. */
const SERVED = 0.95;

const isServed = ({ real, requestsPerSecond }: Setting): boolean =>
  averageOf(real).throughput >= SERVED * requestsPerSecond;

/** Mean errors and noise of the rates that were served, and of those that were more than could be. */
function summaryOf(settings: readonly Setting[]): Record<string, unknown> {
  const of = (chosen: readonly Setting[]): Record<string, unknown> => {
    const rates = chosen.map(({ requestsPerSecond }) => requestsPerSecond);
    if (rates.length === 0) return { rates };
    return {
      rates,
      error: averageOf(chosen.map(({ error }) => error)),
      noise: averageOf(chosen.map(({ noise }) => noise)),
    };
  };
  return { served: of(settings.filter(isServed)), saturated: of(settings.filter((each) => !isServed(each))) };
}

class Bench {
  private readonly scratch = mkdtempSync(join(tmpdir(), "tradewind-fidelity-"));
  private readonly options: BenchmarkOptions;
  private readonly plan: Plan;
  private left: number;
  private runs = 0;

  constructor(options: BenchmarkOptions) {
    this.options = options;
    this.plan = options.quick ? QUICK : FULL;
    const { calibrationRates, policies, policySeconds, rates, seconds } = this.plan;
    const perApplication =
      calibrationRates.length * CALIBRATION_SECONDS +
      2 * rates.length * seconds +
      (policies.length + 1) * policySeconds;
    this.left = APPLICATION_NAMES.length * perApplication;
  }

  close(): void {
    rmSync(this.scratch, { recursive: true, force: true });
  }

  async application(application: string): Promise<Record<string, unknown>> {
    const { calibrationRates, policies, policySeconds, rates, seconds } = this.plan;
    const { seed } = this.options;
    const base = { application, policy: "static", seconds, seed };
    const used = async (requestsPerSecond: number): Promise<MeasuredUse> =>
      (await this.real({ ...base, seconds: CALIBRATION_SECONDS, requestsPerSecond })).use;
    const cost = costBetween(await used(calibrationRates[0]), await used(calibrationRates[1]));
    const settings: Setting[] = [];
    for (const requestsPerSecond of rates)
      settings.push(await this.setting({ ...base, requestsPerSecond }, cost));
    const ranked: { policy: string; real: Score; simulated: Score }[] = [];
    for (const policy of policies) {
      const setting = { application, policy, seconds: policySeconds, seed };
      const real = await this.scored(setting);
      ranked.push({ policy, real, simulated: await simulatedPolicy(setting, cost) });
    }
    const again = await this.scored({ application, policy: REPEATED, seconds: policySeconds, seed });
    const tau = (value: (score: Score) => number): number =>
      kendallTau(
        ranked.map(({ real }) => value(real)),
        ranked.map(({ simulated }) => value(simulated)),
      );
    return {
      application,
      cpuSecondsPerRequest: Object.fromEntries(cost),
      settings,
      summary: summaryOf(settings),
      policies: ranked,
      repeated: { policy: REPEATED, real: again },
      tau: { requestsOver: tau((score) => score.requestsOver), cores: tau((score) => score.cores) },
    };
  }

  private async setting(
    setting: RealSetting & { readonly requestsPerSecond: number },
    cost: MeasuredCost,
  ): Promise<Setting> {
    const first = await this.real(setting);
    const second = await this.real(setting);
    const real = [first.figures, second.figures] as const;
    const simulated = simulatedFigures(setting, cost);
    return {
      requestsPerSecond: setting.requestsPerSecond,
      real,
      simulated,
      error: errorsOf(simulated, averageOf(real)),
      noise: errorsOf(second.figures, first.figures),
    };
  }

  private async scored(setting: RealSetting): Promise<Score> {
    const { cores, requestsOver } = await this.real(setting);
    return { cores, requestsOver };
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
