import type { Application } from "@tradewind/core/contract/application.ts";
import type {
  ContainerWindow,
  FlowWindow,
  LatencySummary,
  Window,
  WindowSet,
} from "@tradewind/core/contract/window.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Account, PodView, ServiceHeld, Size, World } from "../world.ts";
import { windowsByService } from "./fitted.ts";
import type { FittedHistory } from "./fitted.ts";
import { ReplayedDeployment } from "./replayed-deployment.ts";
import { RouteTally } from "./route-tally.ts";
import { flowOf, routeSeconds } from "./route-model.ts";
import { cpuUseCores, selfTimeSeconds, windowAt } from "./service-model.ts";
import type { RouteValidation } from "./validate.ts";

export interface HistoryWorldOptions {
  readonly application: Application;
  readonly fitted: FittedHistory;
  /** How far predictions were off: replays draw their errors from it. */
  readonly validation: readonly RouteValidation[];
  /** The intervals that are replayed, oldest first; at least one. */
  readonly sets: readonly WindowSet[];
  /** From the creation of a pod until it is ready, seconds. */
  readonly podStartSeconds: number;
  readonly seed: number;
}

/** What the application would do in one interval with the pods and sizes of now. */
interface Evaluation {
  /** Self-time p95 by service number, seconds. */
  readonly tails: Float64Array;
  /** p95 of each fitted route, seconds. */
  readonly routeSeconds: readonly number[];
}

/**
 * The past as a world: load, routes and interference are those of the recorded intervals, latency is what the fitted models
 * say of the sizes that a policy chose, with errors as large as the models were seen to make. Requests are not followed one
 * by one: queues do not outlive an interval, nothing fails, and callers do not try again.
 */
export class HistoryWorld implements World {
  readonly services: readonly string[];
  private readonly options: HistoryWorldOptions;
  private readonly deployments: readonly ReplayedDeployment[];
  private readonly tallies: readonly RouteTally[];
  /** ln of measured over predicted, by route and interval. */
  private readonly errors: readonly Float64Array[];
  private readonly startMs: number;
  private now: number;
  private place = 0;
  private evaluated: Evaluation | undefined;

  constructor(options: HistoryWorldOptions) {
    const { application, fitted, podStartSeconds, seed, sets, validation } = options;
    this.options = options;
    this.startMs = sets[0]?.startMs ?? 0;
    this.now = this.startMs;
    this.services = fitted.index.names;
    const windows = windowsByService(sets);
    this.deployments = this.services.map(
      (name) =>
        new ReplayedDeployment(
          name,
          windows.get(name) ?? [],
          application,
          this.startMs,
          1e3 * podStartSeconds,
        ),
    );
    const { milliseconds, percentile } = application.objective;
    this.tallies = fitted.routes.map(
      ({ requestSpread, route }) =>
        new RouteTally({ route, objectiveSeconds: milliseconds / 1e3, percentile, requestSpread }),
    );
    const rng = seededRng(seed);
    this.errors = fitted.routes.map(({ route }) => {
      const { logError = 0, shift = 0 } = validation.find((each) => each.route === route) ?? {};
      return Float64Array.from(sets, () => shift + logError * standardNormal(rng));
    });
  }

  get nowMs(): number {
    return this.now;
  }

  advanceTo(untilMs: number): void {
    if (!(untilMs >= this.now)) throw new RangeError(`${untilMs} lies before ${this.now}`);
    while (this.now < untilMs) {
      const nextMs = Math.min(untilMs, this.nextChangeMs());
      this.spend((nextMs - this.now) / 1e3);
      this.now = nextMs;
      this.evaluated = undefined;
      while (this.now >= this.interval().endMs && this.place < this.options.sets.length - 1) this.place += 1;
    }
  }

  pods(service: string): readonly PodView[] {
    return this.of(service).views(this.now);
  }

  workloads(): WorkloadList {
    const { namespace } = this.options.application;
    return {
      schema: WORKLOADS_SCHEMA,
      observedAtMs: this.now,
      workloads: this.deployments.map((deployment) => ({
        namespace,
        kind: "Deployment",
        name: deployment.service,
        service: deployment.service,
        replicasWanted: deployment.pods.length,
        replicasReady: deployment.ready(this.now),
        pods: deployment.pods.map(({ createdAtMs, name, readyAtMs }) => ({
          uid: name,
          name,
          node: "recorded",
          ready: readyAtMs <= this.now,
          createdAtMs,
          ...(readyAtMs <= this.now && { startedAtMs: createdAtMs, readyAtMs }),
          containers: [{ id: name, name: deployment.service }],
        })),
      })),
    };
  }

  windowSet(startMs: number, endMs: number): WindowSet {
    const place = Math.max(
      0,
      this.options.sets.findLastIndex((each) => each.startMs <= startMs),
    );
    const set = this.interval(place);
    const { routeSeconds: routes, tails } = this.evaluate(place);
    const { fitted } = this.options;
    return {
      startMs,
      endMs,
      windows: set.windows.map((window) => this.shown(window, place, { startMs, endMs }, tails)),
      flows: set.flows.map((flow): FlowWindow => {
        const seconds = routes[fitted.routes.findIndex(({ route }) => route === flow.flow)];
        const latency = seconds === undefined ? flow.latency : scaled(flow.latency, seconds);
        return Object.assign({}, flow, { latency });
      }),
    };
  }

  setReplicas(service: string, replicas: number): void {
    this.of(service).setReplicas(replicas, this.now);
    this.evaluated = undefined;
  }

  replicas(service: string): number {
    return this.of(service).pods.length;
  }

  resize(service: string, size: Size): void {
    this.of(service).resize(size, this.now);
    this.evaluated = undefined;
  }

  account(): Account {
    const services = this.deployments.map((each) => each.held(this.now));
    const sum = (part: keyof Omit<ServiceHeld, "service">): number =>
      services.reduce((total, each) => total + each[part], 0);
    const routes = this.tallies.map((tally) => tally.account());
    const minutes = new Set(routes.flatMap((route) => route.minutes.map(({ startMs }) => startMs)));
    return {
      atMs: this.now,
      routes,
      services,
      requestCoreSeconds: sum("requestCoreSeconds"),
      limitCoreSeconds: sum("limitCoreSeconds"),
      requestByteSeconds: sum("requestByteSeconds"),
      limitByteSeconds: sum("limitByteSeconds"),
      usedCoreSeconds: sum("usedCoreSeconds"),
      podSeconds: sum("podSeconds"),
      nodeCoreSeconds: 0,
      coreSeconds: sum("requestCoreSeconds"),
      byteSeconds: sum("requestByteSeconds"),
      starts: sum("starts"),
      stops: sum("stops"),
      oomKills: 0,
      minutes: minutes.size,
      minutesOver: new Set(this.tallies.flatMap((tally) => tally.minutesMissed())).size,
    };
  }

  private of(service: string): ReplayedDeployment {
    const found = this.deployments.find((each) => each.service === service);
    if (found === undefined) throw new RangeError(`no service '${service}'`);
    return found;
  }

  private interval(place = this.place): WindowSet {
    const set = this.options.sets[place];
    if (set === undefined) throw new RangeError("a history without an interval");
    return set;
  }

  /** The next moment at which anything is different: an interval's edge, a full minute, a pod that becomes ready. */
  private nextChangeMs(): number {
    const ready = this.deployments.flatMap(({ pods }) =>
      pods.flatMap(({ readyAtMs }) => (readyAtMs > this.now ? [readyAtMs] : [])),
    );
    const edge = this.interval().endMs;
    const minute = (Math.floor(this.now / 60_000) + 1) * 60_000;
    return Math.min(edge > this.now ? edge : Infinity, minute, ...ready);
  }

  /** Load that each ready pod of a service gets; a service without one gets all of it on a pod that is about to come. */
  private loadOf(deployment: ReplayedDeployment, place = this.place): number {
    const window = this.interval(place).windows.find(({ service }) => service === deployment.service);
    return (window?.requestsPerSecond ?? 0) / Math.max(1, deployment.ready(this.now));
  }

  /** By the pods and sizes of now; the present interval's is kept until one of them changes. */
  private evaluate(place = this.place): Evaluation {
    if (place !== this.place) return this.evaluation(place);
    this.evaluated ??= this.evaluation(place);
    return this.evaluated;
  }

  private evaluation(place: number): Evaluation {
    const { fitted } = this.options;
    const { endMs } = this.interval(place);
    const tails = Float64Array.from(this.deployments, (deployment) => {
      const model = fitted.services.get(deployment.service);
      const window = model && windowAt(model.windows, endMs);
      if (model === undefined || window === undefined) return 0;
      const { cpuCores } = deployment.size;
      return selfTimeSeconds(window, { cpuCores, loadPerContainer: this.loadOf(deployment, place) });
    });
    return {
      tails,
      routeSeconds: fitted.routes.map(
        (model, route) => routeSeconds(model, tails) * Math.exp(this.errors[route]?.[place] ?? 0),
      ),
    };
  }

  private spend(seconds: number): void {
    const set = this.interval();
    const { routeSeconds: routes } = this.evaluate();
    for (const [number, { route }] of this.options.fitted.routes.entries()) {
      const rate = flowOf(set, route)?.requestsPerSecond ?? 0;
      this.tallies[number]?.add(this.now, seconds, rate, routes[number] ?? 0);
    }
    for (const deployment of this.deployments) {
      deployment.usageCores = this.usageOf(deployment);
      deployment.usedCoreSeconds += deployment.usageCores * deployment.ready(this.now) * seconds;
    }
  }

  /** CPU use of one ready pod, cores: what its requests cost, and no more than its size. */
  private usageOf(deployment: ReplayedDeployment, place = this.place): number {
    const model = this.options.fitted.services.get(deployment.service);
    const window = model && windowAt(model.windows, this.interval(place).endMs);
    if (window === undefined) return 0;
    return Math.min(deployment.size.cpuCores, cpuUseCores(window, this.loadOf(deployment, place)));
  }

  /** The recorded window of a service as it would have been measured in the replay. */
  private shown(
    window: Window,
    place: number,
    { endMs, startMs }: Pick<WindowSet, "startMs" | "endMs">,
    tails: Float64Array,
  ): Window {
    const { fitted } = this.options;
    const number = fitted.index.numberOf.get(window.service) ?? -1;
    const deployment = this.deployments[number];
    const tail = tails[number] ?? 0;
    if (deployment === undefined) return { ...window, startMs, endMs };
    const { cpuCores, memoryBytes } = deployment.size;
    const container: Omit<ContainerWindow, "id"> = {
      cpuRequestCores: cpuCores,
      cpuLimitCores: cpuCores,
      cpuUsageCores: this.usageOf(deployment, place),
      memoryRequestBytes: memoryBytes,
      memoryLimitBytes: memoryBytes,
      memoryWorkingSetBytes: Math.min(deployment.workingSetBytes, memoryBytes),
      ...(window.containers[0]?.interference && { interference: window.containers[0].interference }),
    };
    const { ownLatency, responseLatency: _, ...rest } = window;
    return {
      ...rest,
      startMs,
      endMs,
      replicasReady: deployment.ready(this.now),
      replicasWanted: deployment.pods.length,
      lastStartedAtMs: deployment.pods.reduce((latest, { createdAtMs }) => Math.max(latest, createdAtMs), 0),
      ...(ownLatency !== undefined && tail > 0 && { ownLatency: scaled(ownLatency, tail) }),
      containers: deployment.pods
        .filter(({ readyAtMs }) => readyAtMs <= this.now)
        .map(({ name }) => Object.assign({ id: name, podName: name }, container)),
    };
  }
}

/** A summary with the same shape and this p95. */
function scaled(latency: LatencySummary, p95Seconds: number): LatencySummary {
  const factor = latency.p95Seconds > 0 ? p95Seconds / latency.p95Seconds : 1;
  return {
    count: latency.count,
    meanSeconds: latency.meanSeconds * factor,
    p50Seconds: latency.p50Seconds * factor,
    p95Seconds,
    p99Seconds: latency.p99Seconds * factor,
  };
}
