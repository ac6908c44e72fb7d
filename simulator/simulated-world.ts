import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { Cluster } from "./cluster/cluster.ts";
import type { Ledger } from "./cluster/ledger.ts";
import type { ContainerSize, Pod } from "./cluster/pod.ts";
import { podView } from "./telemetry/pod-view.ts";
import { workloadList } from "./telemetry/workloads.ts";
import type { WorkloadParts } from "./telemetry/workloads.ts";
import { Engine } from "./engine/engine.ts";
import { compile } from "./engine/program.ts";
import type { PlantModel } from "./model/plant-model.ts";
import { RouteRecord } from "./telemetry/route-record.ts";
import { mainId } from "./telemetry/metrics.ts";
import { Telemetry } from "./telemetry/telemetry.ts";
import type {
  Account,
  ControlFaults,
  PodView,
  RouteAccount,
  ServiceHeld,
  ServiceUse,
  Size,
  World,
} from "./world.ts";

export interface WorldOptions {
  readonly model: PlantModel;
  readonly application: Application;
  readonly faults: ControlFaults;
  readonly windowSeconds: number;
  readonly seed: number;
  /** Checks what must hold after every so many events, which is slow; absent: never. */
  readonly auditEvery?: number;
}

/** The world that the engine makes of a plant. Inside, times are ms from the start of the run. */
export class SimulatedWorld implements World {
  readonly services: readonly string[];
  private readonly options: WorldOptions;
  private readonly indexes: ReadonlyMap<string, number>;
  private readonly startMs: number;
  private readonly engine: Engine;
  private readonly cluster: Cluster;
  private readonly telemetry: Telemetry;
  private readonly routes: readonly RouteRecord[];
  private readonly workloadParts: WorkloadParts;

  constructor(options: WorldOptions) {
    const { application, auditEvery, faults, model, seed, windowSeconds } = options;
    const { objective } = application;
    const program = compile(model.application, objective.milliseconds);
    this.options = options;
    this.startMs = model.startMs;
    this.services = model.application.services.map(({ name }) => name);
    this.indexes = new Map(this.services.map((name, index) => [name, index]));
    this.routes = program.routes.map(
      ({ name, objectiveMs }) => new RouteRecord(name, objectiveMs, objective.percentile, model.startMs),
    );
    this.engine = new Engine({
      program,
      seed,
      recorder: {
        keeps: (hash) => this.telemetry.keeps(hash),
        requestEnded: (route, latencyMs, failed, nowMs) => {
          this.routes[route]?.add(latencyMs, failed, nowMs);
        },
        span: (span) => {
          this.telemetry.span(span);
        },
      },
      onOutOfMemory: (server) => {
        this.cluster.outOfMemory(server);
      },
      ...(auditEvery !== undefined && { auditEvery }),
    });
    this.cluster = new Cluster(this.engine, model, seed);
    this.telemetry = new Telemetry({
      model: model.telemetry,
      faults,
      cluster: this.cluster,
      agenda: this.engine.agenda,
      services: this.services,
      namespace: application.namespace,
      startMs: model.startMs,
      windowSeconds,
      now: () => this.engine.nowMs,
    });
    this.workloadParts = {
      cluster: this.cluster,
      services: this.services,
      namespace: application.namespace,
      startMs: model.startMs,
      specOf: serviceSpecs(application),
    };
    const rates = Float64Array.from({ length: model.seconds }, (_, second) => model.load(second));
    this.engine.load(rates, model.arrivals);
  }

  get nowMs(): number {
    return this.startMs + this.engine.nowMs;
  }

  /** Events dealt with so far: what a speed is measured by. */
  get eventCount(): number {
    return this.engine.eventCount;
  }

  advanceTo(untilMs: number): void {
    if (!(untilMs >= this.nowMs)) throw new RangeError(`${untilMs} lies before ${this.nowMs}`);
    this.engine.runUntil(untilMs - this.startMs);
  }

  pods(service: string): readonly PodView[] {
    const { faults } = this.options;
    const bad = this.telemetry.isIn(faults.nanWindows);
    const pods = this.cluster.deployments[this.indexOf(service)]?.pods ?? [];
    return pods.map((pod) => {
      const view = podView(pod, this.telemetry.metrics.shown(pod), this.startMs);
      if (!bad || view.cpuUsageCores === undefined) return view;
      return Object.assign(view, { cpuUsageCores: NaN, memoryWorkingSetBytes: NaN });
    });
  }

  workloads(): WorkloadList {
    return workloadList(this.workloadParts, this.engine.nowMs);
  }

  windowSet(startMs: number, endMs: number): WindowSet {
    return this.telemetry.windowSet(startMs, endMs, this.workloads());
  }

  serviceUses(startMs: number, endMs: number): ReadonlyMap<string, ServiceUse> {
    const uses = this.telemetry.metrics.uses(startMs - this.startMs, endMs - this.startMs);
    return new Map(
      this.services.flatMap((service, index) => {
        const use = serviceUse(this.cluster.deployments[index]?.pods ?? [], uses);
        return use === undefined ? [] : [[service, use] as const];
      }),
    );
  }

  setReplicas(service: string, replicas: number): void {
    if (!Number.isInteger(replicas) || replicas < 0) {
      throw new RangeError(`${replicas} is not a number of replicas`);
    }
    this.cluster.setReplicas(this.indexOf(service), replicas);
  }

  replicas(service: string): number {
    return this.cluster.deployments[this.indexOf(service)]?.replicas ?? 0;
  }

  resize(service: string, size: Size, how: "in-place" | "recreate"): void {
    const index = this.indexOf(service);
    const deployment = this.cluster.deployments[index];
    if (deployment !== undefined) this.cluster.resize(index, resized(deployment.size, size), how);
  }

  account(): Account {
    const nowMs = this.engine.nowMs;
    const routes = this.routes.map((route) => route.account(nowMs));
    const services = this.cluster.ledgers.map((ledger, index) => this.serviceHeld(ledger, index));
    const sum = (name: Exclude<keyof ServiceHeld, "service">): number =>
      services.reduce((total, held) => total + held[name], 0);
    const requestCoreSeconds = sum("requestCoreSeconds");
    const requestByteSeconds = sum("requestByteSeconds");
    return {
      atMs: this.nowMs,
      routes,
      requestCoreSeconds,
      limitCoreSeconds: sum("limitCoreSeconds"),
      requestByteSeconds,
      limitByteSeconds: sum("limitByteSeconds"),
      usedCoreSeconds: sum("usedCoreSeconds"),
      podSeconds: sum("podSeconds"),
      nodeCoreSeconds: this.cluster.scheduler.nodeCoreSeconds(nowMs),
      coreSeconds: requestCoreSeconds,
      byteSeconds: requestByteSeconds,
      starts: sum("starts"),
      stops: sum("stops"),
      oomKills: sum("oomKills"),
      ...this.minutes(routes),
      services,
    };
  }

  /** @throws Error when something does not hold that must hold at any moment */
  audit(): void {
    this.engine.audit();
  }

  private minutes(routes: readonly RouteAccount[]): Pick<Account, "minutes" | "minutesOver"> {
    const all = new Set<number>();
    const over = new Set<number>();
    routes.forEach(({ minutes }, index) => {
      for (const minute of minutes) {
        all.add(minute.startMs);
        if (this.routes[index]?.missed(minute) === true) over.add(minute.startMs);
      }
    });
    return { minutes: all.size, minutesOver: over.size };
  }

  private serviceHeld(ledger: Ledger, index: number): ServiceHeld {
    const nowMs = this.engine.nowMs;
    const totals = ledger.totals(nowMs);
    let usedMs = ledger.retiredCpuMs;
    for (const { server } of this.cluster.deployments[index]?.pods ?? []) {
      usedMs += (server?.main.usedUntil(nowMs) ?? 0) + (server?.proxy?.usedUntil(nowMs) ?? 0);
    }
    return {
      service: this.services[index] ?? "",
      requestCoreSeconds: totals.requestCores,
      limitCoreSeconds: totals.limitCores,
      requestByteSeconds: totals.requestBytes,
      limitByteSeconds: totals.limitBytes,
      usedCoreSeconds: usedMs / 1e3,
      podSeconds: totals.pods,
      starts: ledger.starts,
      stops: ledger.stops,
      oomKills: ledger.oomKills,
    };
  }

  private indexOf(service: string): number {
    const index = this.indexes.get(service);
    if (index === undefined) throw new RangeError(`there is no service '${service}'`);
    return index;
  }
}

/** Requests take the new values, limits keep their ratio to the requests. */
function resized(from: ContainerSize, { cpuCores, memoryBytes }: Size): ContainerSize {
  const cpu = cpuCores ?? from.cpuRequestCores;
  const memory = memoryBytes ?? from.memoryRequestBytes;
  const { cpuLimitCores, memoryLimitBytes } = from;
  return {
    cpuRequestCores: cpu,
    ...(cpuLimitCores !== undefined && { cpuLimitCores: (cpuLimitCores / from.cpuRequestCores) * cpu }),
    memoryRequestBytes: memory,
    ...(memoryLimitBytes !== undefined && {
      memoryLimitBytes: (memoryLimitBytes / from.memoryRequestBytes) * memory,
    }),
  };
}

function serviceUse(
  pods: readonly Pod[],
  uses: ReturnType<Telemetry["metrics"]["uses"]>,
): ServiceUse | undefined {
  const read = pods.flatMap((pod) => {
    const use = pod.phase === "ready" ? uses.get(mainId(pod)) : undefined;
    return use?.cpuUsageCores === undefined ? [] : [{ size: pod.size, use }];
  });
  if (read.length === 0) return undefined;
  const mean = (of: (each: (typeof read)[number]) => number | undefined): number | undefined => {
    const values = read.map((each) => of(each));
    return values.reduce<number | undefined>(
      (sum, value) => (sum === undefined || value === undefined ? undefined : sum + value / read.length),
      0,
    );
  };
  const throttledRatio = mean(({ use }) => use.cpuThrottledRatio);
  const cpuLimitCores = mean(({ size }) => size.cpuLimitCores);
  const memoryLimitBytes = mean(({ size }) => size.memoryLimitBytes);
  return {
    pods: read.length,
    cpuCores: read.reduce((sum, { use }) => sum + (use.cpuUsageCores ?? 0), 0),
    memoryBytes: mean(({ use }) => use.memoryWorkingSetBytes) ?? 0,
    ...(throttledRatio !== undefined && { throttledRatio }),
    ...(cpuLimitCores !== undefined && { cpuLimitCores }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
  };
}
