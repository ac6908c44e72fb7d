import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { mean, quantile } from "@tradewind/core/values/statistics.ts";
import type { Question } from "@tradewind/predictor/models/network/place-inputs.ts";
import type { ProfileObservation } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { Surroundings } from "@tradewind/predictor/models/network/surroundings.ts";
import type { NetworkWindow } from "@tradewind/predictor/models/network/window-inputs.ts";
import { emptyRings, TrainingContainer } from "./container.ts";
import type { Condition, TrainingService } from "./container.ts";
import { fullOf } from "./prior.ts";
import type { LoadPattern, Measurement, TrainingPlan } from "./prior.ts";

/** What a container gets and bears in one window. */
export interface Moment {
  readonly service: TrainingService;
  /** Infinity: none. */
  readonly quotaCores: number;
  readonly requestsPerSecond: number;
  /** Memory limit over that of the first window. */
  readonly memoryScale: number;
  readonly cpuInterference: number;
  readonly bandwidthInterference: number;
  /** What deploys and drift have made of the work of a request. */
  readonly drifted: number;
}

/** Requests that ended in a window. */
interface Ended {
  readonly seconds: Float64Array;
  readonly cpuCores: number;
  readonly queuedSeconds: number;
}

const MEMORY_ENOUGH = 0.85;
const MOST_RESIDENT = 0.98;
/** Most load of a window over what fills the container. */
export const MOST_USE = 1.2;
/** Sizes of a container, cores. */
const LEAST_SIZE = 0.02;
const LARGEST_SIZE = 8;
export const sizeWithinBounds = (cores: number): number =>
  Math.min(LARGEST_SIZE, Math.max(LEAST_SIZE, cores));
const INTERFERENCE_NOISE = 0.02;
const CPU_NOISE = 0.02;
const UNSEEN = Number.NaN;
const MS = 1e3;

/** A window of truth: what comes first finds no queue and does not count. */
const UNCOUNTED_SECONDS = 5;
const COUNTED_SECONDS = 15;
/** Requests that a true percentile is of, at least. */
const LEAST_REQUESTS = 1_000;

/** One service through its windows, as what measures it tells them, and what it would have answered elsewhere. */
export class ServiceCourse {
  private readonly plan: TrainingPlan;
  private readonly rng: Rng;
  private readonly container: TrainingContainer;
  /** Of the containers that give true answers. */
  private readonly rings = emptyRings();
  private readonly ended: number[] = [];
  private queuedSum = 0;
  private readonly reports: Ended[] = [];
  private now: Moment;
  private replicas: number;
  private windows = 0;
  private sinceStart = 0;
  private walk = 0;
  private drifted = 1;
  private isTenantThere = false;

  constructor(plan: TrainingPlan, seed: number) {
    this.plan = plan;
    this.rng = seededRng(seed + 0x5eed);
    this.replicas = plan.replicas;
    this.now = {
      service: plan.service,
      quotaCores: plan.quotaCores,
      requestsPerSecond: plan.requestsPerSecond,
      memoryScale: 1,
      cpuInterference: 0,
      bandwidthInterference: 0,
      drifted: 1,
    };
    const { isBlind } = plan.measurement;
    this.container = new TrainingContainer(
      plan.service,
      this.conditionOf(this.now, 1),
      seed,
      (_, seconds, queued) => {
        this.ended.push(isBlind ? seconds - queued : seconds);
        this.queuedSum += queued;
      },
    );
  }

  /** Requests per second that fill a container there. */
  fullPerSecond(moment: Moment): number {
    const { service } = moment;
    const demandSeconds = service.demandSeconds * this.workFactor(moment);
    return fullOf({ ...service, demandSeconds }, moment.quotaCores);
  }

  next(): { readonly moment: Moment; readonly window: NetworkWindow } {
    const { container, plan, rng } = this;
    this.move();
    const moment = this.now;
    const weather = Math.exp(plan.weather * standardNormal(rng)) * this.warming();
    container.change(this.conditionOf(moment, weather));
    const [from, used, periods, throttled] = [
      container.now,
      container.usedSeconds,
      container.periods,
      container.throttledPeriods,
    ];
    this.ended.length = 0;
    this.queuedSum = 0;
    container.runUntil(from + plan.windowSeconds);
    this.reports.push({
      seconds: Float64Array.from(this.ended),
      cpuCores: (container.usedSeconds - used) / plan.windowSeconds + plan.service.housekeepingCores,
      queuedSeconds: this.queuedSum / Math.max(1, this.ended.length),
    });
    const throttledRatio =
      (container.throttledPeriods - throttled) / Math.max(1, container.periods - periods);
    const window = this.seen(moment, throttledRatio);
    this.windows += 1;
    this.sinceStart += 1;
    return { moment, window };
  }

  /** A place as the predictor would ask about it. @param now the moment of its last window */
  questionAt(moment: Moment, now: Moment): Question {
    const { cpuUnit } = this.plan.measurement;
    return {
      cpuCores: moment.quotaCores < Infinity && cpuUnit === 1 ? moment.quotaCores : undefined,
      loadPerContainer: moment.requestsPerSecond,
      memoryScale: moment.memoryScale / now.memoryScale,
    };
  }

  /** p95 of windows that begin without a queue, s. @param key equal keys, equal requests */
  trueTail(moment: Moment, key: number): number {
    const { isBlind } = this.plan.measurement;
    const rate = moment.requestsPerSecond;
    const uncounted = Math.round(UNCOUNTED_SECONDS * rate);
    const counted = Math.max(1, Math.round(COUNTED_SECONDS * rate));
    const most = uncounted + counted + Math.ceil((uncounted + counted) / 2);
    const seconds: number[] = [];
    for (let run = 0; seconds.length < LEAST_REQUESTS; run += 1) {
      const container = new TrainingContainer(
        moment.service,
        this.conditionOf(moment, 1),
        key + 16 * run,
        (number, time, queued) => {
          if (number >= uncounted && number < uncounted + counted)
            seconds.push(isBlind ? time - queued : time);
        },
        this.rings,
      );
      const wanted = seconds.length + counted;
      const latest = 4 * (UNCOUNTED_SECONDS + COUNTED_SECONDS);
      while (seconds.length < wanted && container.now < latest)
        container.runUntil(Math.min(latest, container.now + 1), most);
      if (run >= LEAST_REQUESTS) break;
    }
    return quantile(seconds, 0.95);
  }

  private conditionOf(moment: Moment, weather: number): Condition {
    const { quotaCores, requestsPerSecond } = moment;
    return { quotaCores, requestsPerSecond, workFactor: weather * this.workFactor(moment) };
  }

  private workFactor({ bandwidthInterference, cpuInterference, drifted, memoryScale }: Moment): number {
    const { bandwidth, cpu, memoryNeed, memorySlope } = this.plan.sensitivity;
    const ofMemory = 1 + memorySlope * Math.max(0, memoryNeed / memoryScale - MEMORY_ENOUGH);
    const ofTenants = (1 + cpu * cpuInterference ** 1.5) * (1 + bandwidth * bandwidthInterference ** 2);
    return ofMemory * ofTenants * drifted;
  }

  private warming(): number {
    if (this.windows === this.plan.deployAt) this.sinceStart = 0;
    return 1 + this.plan.warmUp * Math.exp(-this.sinceStart / 2);
  }

  /** Load, sizes and surroundings of the next window. */
  private move(): void {
    const { plan, rng, windows } = this;
    const { changeChance, drift, sensitivity } = plan;
    this.drifted *=
      Math.exp(drift * standardNormal(rng)) * (windows === plan.deployAt ? plan.deployFactor : 1);
    if (windows > 0 && rng() < changeChance) this.resize();
    this.isTenantThere = this.isTenantThere ? rng() > 0.2 : rng() < sensitivity.tenantChance;
    const tenant = this.isTenantThere ? sensitivity.tenantSize : 0;
    const total = plan.requestsPerSecond * plan.replicas * this.loadFactor(plan.pattern);
    const moment: Moment = {
      ...this.now,
      drifted: this.drifted,
      cpuInterference: Math.min(1, 0.1 * rng() + tenant),
      bandwidthInterference: Math.min(1, 0.1 * rng() + tenant * (rng() < 0.5 ? 1 : 0.2)),
    };
    const most = MOST_USE * this.fullPerSecond(moment);
    this.now = { ...moment, requestsPerSecond: Math.min(most, total / this.replicas) };
  }

  private resize(): void {
    const { plan, rng } = this;
    const kind = rng();
    if (kind < 0.45 && plan.quotaCores < Infinity) {
      const quotaCores = sizeWithinBounds(plan.quotaCores * Math.exp(0.5 * standardNormal(rng)));
      this.now = { ...this.now, quotaCores };
    } else if (kind < 0.55) {
      this.now = { ...this.now, memoryScale: Math.exp(0.3 * standardNormal(rng)) };
    } else {
      this.replicas = Math.max(1, Math.round(plan.replicas * Math.exp(0.5 * standardNormal(rng))));
      this.sinceStart = 0;
    }
  }

  private loadFactor({ kind, phase, size, windows: width }: LoadPattern): number {
    const { rng, windows } = this;
    const jitter = Math.exp(0.03 * standardNormal(rng));
    switch (kind) {
      case "flat":
        return jitter;
      case "scatter":
        return 1 - 0.7 * size * rng();
      case "wave":
        return jitter * (1 + size * Math.sin(2 * Math.PI * (windows / width + phase)));
      case "walk":
        this.walk = 0.93 * this.walk + 0.2 * standardNormal(rng);
        return Math.exp(this.walk);
      case "saw":
        return jitter * (0.15 + 1.6 * ((windows / width + phase) % 1));
      case "steps":
        if (rng() < 0.08) this.walk = 0.7 * standardNormal(rng);
        return jitter * Math.exp(this.walk);
      case "calm-then-step":
        return jitter * (windows < 8 + 30 * phase ? 0.3 : 0.3 + 1.5 * size);
      case "bursts":
        return jitter * (rng() < 0.15 ? 1 + 2 * size : 0.7);
      default:
        return kind satisfies never;
    }
  }

  /** The window as its sources tell it. */
  private seen(moment: Moment, throttledRatio: number): NetworkWindow {
    const { measurement } = this.plan;
    const observation = this.observed(moment, throttledRatio);
    const surroundings = this.surroundings(moment);
    const queuedSeconds = measurement.isBlind ? (this.reports.at(-1)?.queuedSeconds ?? 0) : 0;
    const transit = measurement.hasTransit && { transitSeconds: queuedSeconds + NETWORK_SECONDS };
    return { observation, surroundings, ...transit };
  }

  private observed(moment: Moment, throttledRatio: number): ProfileObservation {
    const { plan, rng } = this;
    const { measurement, windowSeconds } = plan;
    const { cpuUnit, cpuWindows, keptRatio, overlap } = measurement;
    const recent = this.reports.slice(-overlap);
    const seconds = kept(recent, keptRatio, rng).sort();
    const ended = recent.reduce((sum, each) => sum + each.seconds.length, 0) / recent.length;
    const usedCores = mean(this.reports.slice(-cpuWindows).map(({ cpuCores }) => cpuCores));
    const isLimitKnown = moment.quotaCores < Infinity && cpuUnit === 1;
    return {
      atMs: MS * windowSeconds * (this.windows + 1),
      windowSeconds,
      cpuCores: isLimitKnown ? moment.quotaCores : undefined,
      loadPerContainer: ended / windowSeconds,
      calls: Math.round((seconds.length * measurement.counted) / recent.length),
      ...(keptRatio < 1 && { keptRatio }),
      ...(measurement.hasCpu && {
        cpuUsageCores: usedCores * cpuUnit * Math.exp(CPU_NOISE * standardNormal(rng)),
      }),
      ...timesOf(seconds, measurement),
      ...(measurement.hasThrottling && isLimitKnown && { throttledRatio }),
      ...(this.windows === plan.deployAt && { isAfterDeploy: true }),
      ...(this.sinceStart < 4 && plan.warmUp > 0 && { youngShare: 1 }),
    };
  }

  private surroundings({ bandwidthInterference, cpuInterference, memoryScale }: Moment): Surroundings {
    const { plan, rng } = this;
    const { hasInterference, hasMemory } = plan.measurement;
    const { memoryNeed } = plan.sensitivity;
    const measured = (value: number): number =>
      hasInterference ? Math.min(1, Math.max(0, value + INTERFERENCE_NOISE * standardNormal(rng))) : UNSEEN;
    return {
      memoryRatio: hasMemory && memoryNeed > 0 ? Math.min(MOST_RESIDENT, memoryNeed / memoryScale) : UNSEEN,
      interference: [measured(cpuInterference), UNSEEN, measured(bandwidthInterference), UNSEEN],
    };
  }
}

/** What callers wait for beside any queue. */
const NETWORK_SECONDS = 0.0005;

/** Percentiles as they are reported. @param seconds ascending */
function timesOf(
  seconds: Float64Array,
  { buckets, isTailOnly }: Measurement,
): Pick<ProfileObservation, "meanSeconds" | "p50Seconds" | "p95Seconds" | "p99Seconds"> {
  const at = (share: number): number =>
    buckets.length > 0 ? bucketed(seconds, share, buckets) : quantile(seconds, share);
  const hasAll = !isTailOnly;
  return {
    ...(seconds.length >= LEAST_TAIL && { p95Seconds: at(0.95) }),
    ...(hasAll && seconds.length > 1 && { p50Seconds: at(0.5), meanSeconds: mean(seconds) }),
    ...(hasAll && seconds.length >= LEAST_FAR_TAIL && { p99Seconds: at(0.99) }),
  };
}

const LEAST_TAIL = 10;
const LEAST_FAR_TAIL = 100;

function kept(reports: readonly Ended[], ratio: number, rng: Rng): Float64Array {
  const all = reports.flatMap(({ seconds }) => [...seconds]);
  return Float64Array.from(ratio < 1 ? all.filter(() => rng() < ratio) : all);
}

/** As `histogram_quantile` has it. */
function bucketed(sorted: Float64Array, share: number, ends: readonly number[]): number {
  const rank = share * sorted.length;
  let below = 0;
  for (const [i, end] of ends.entries()) {
    let upTo = below;
    while (upTo < sorted.length && (sorted[upTo] as number) <= end) upTo += 1;
    if (upTo >= rank) {
      const start = i === 0 ? 0 : (ends[i - 1] as number);
      return upTo > below ? start + ((end - start) * (rank - below)) / (upTo - below) : end;
    }
    below = upTo;
  }
  return ends.at(-1) ?? Number.NaN;
}
