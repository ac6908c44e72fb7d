import type { Engine } from "../engine/engine.ts";
import { processorSize } from "../engine/engine.ts";
import { derive } from "../engine/random.ts";
import { SamplerTable } from "../engine/sampler.ts";
import type { Server } from "../engine/server.ts";
import type { PlantModel } from "../model/plant-model.ts";
import { Deployment } from "./deployment.ts";
import { InterferenceSchedule } from "./interference.ts";
import { Ledger, NOTHING } from "./ledger.ts";
import type { ClusterNode } from "./node.ts";
import { Pod } from "./pod.ts";
import type { ContainerSize } from "./pod.ts";
import { Scheduler } from "./scheduler.ts";

const DRAIN_SECONDS = 30;
const NODE_LOSS_SECONDS = 40;
const CRASH_BACKOFF_SECONDS = 10;
const MOST_BACKOFF_SECONDS = 300;
/** A container that ran so long begins a new series of kills. */
const CRASH_FORGET_MS = 600_000;
/** How often a pod that drains is looked at. */
const DRAIN_LOOK_MS = 1_000;
const START = 1;
/** Pods that are there from the start of the run have run for ten minutes. */
const RAN_BEFORE_MS = 600_000;

/** Nodes, pods and Deployments, and everything that happens to them with time. Times are ms from the start of the run. */
export class Cluster {
  readonly deployments: Deployment[] = [];
  readonly ledgers: Ledger[] = [];
  readonly scheduler: Scheduler;
  readonly interference: InterferenceSchedule;
  private readonly engine: Engine;
  private readonly model: PlantModel;
  private readonly seed: number;
  private readonly ordinals: number[] = [];
  private readonly samplers = new SamplerTable();
  private readonly startRow: number;
  private readonly byServer = new Map<Server, Pod>();
  private booting = true;

  constructor(engine: Engine, model: PlantModel, seed: number) {
    this.engine = engine;
    this.model = model;
    this.seed = seed;
    this.startRow = this.samplers.add(model.cluster.podStartMs);
    this.interference = new InterferenceSchedule(model.incidents ?? []);
    this.scheduler = new Scheduler({
      model: model.cluster,
      agenda: engine.agenda,
      now: () => engine.nowMs,
      onPlaced: (pod) => this.placed(pod),
      onNode: (node) => this.disturb(node),
    });
    model.application.services.forEach(({ container, replicas }, service) => {
      this.ordinals.push(0);
      this.ledgers.push(new Ledger());
      this.deployments.push(
        new Deployment(replicas, container, {
          create: () => this.create(service),
          remove: (pod) => this.takeDown(pod),
        }),
      );
    });
    for (const deployment of this.deployments) deployment.reconcile();
    this.booting = false;
    this.planIncidents();
  }

  setReplicas(service: number, replicas: number): void {
    const deployment = this.deployment(service);
    deployment.replicas = replicas;
    deployment.reconcile();
  }

  /** New pods get the size; those that run get it in place as far as their node has it, or are replaced. */
  resize(service: number, size: ContainerSize, how: "in-place" | "recreate"): void {
    const deployment = this.deployment(service);
    deployment.size = size;
    if (how === "recreate") {
      deployment.generation += 1;
      deployment.reconcile();
      return;
    }
    for (const pod of deployment.pods) {
      if (pod.phase === "pending") pod.size = size;
      else pod.wantedSize = size;
    }
    this.settleSizes(deployment.pods);
    this.scheduler.retry();
  }

  /** Tries again what a node or a memory in use did not allow before. */
  retrySizes(): void {
    for (const { pods } of this.deployments) this.settleSizes(pods);
  }

  /** The container was killed: it starts again after a pause that doubles from kill to kill. */
  outOfMemory(server: Server): void {
    const pod = this.byServer.get(server);
    if (pod === undefined) return;
    const nowMs = this.engine.nowMs;
    this.ledger(pod).oomKills += 1;
    pod.oomKills += 1;
    pod.oomKilledMs = nowMs;
    if (pod.phase === "draining") {
      this.gone(pod);
      return;
    }
    pod.crashes = nowMs - pod.restartedMs > CRASH_FORGET_MS ? 1 : pod.crashes + 1;
    pod.phase = "starting";
    this.engine.traffic.leave(server);
    // The first restart is immediate, as the kubelet's.
    const pauseSeconds =
      pod.crashes === 1 ? 0 : Math.min(MOST_BACKOFF_SECONDS, CRASH_BACKOFF_SECONDS * 2 ** (pod.crashes - 2));
    this.engine.agenda.at(nowMs + 1e3 * pauseSeconds + this.startMs(pod, pod.oomKills), () =>
      this.becomeReady(pod),
    );
    this.deployment(pod.service).reconcile();
  }

  private deployment(service: number): Deployment {
    const deployment = this.deployments[service];
    if (deployment === undefined) throw new RangeError(`there is no service ${service}`);
    return deployment;
  }

  private ledger(pod: Pod): Ledger {
    const ledger = this.ledgers[pod.service];
    if (ledger === undefined) throw new RangeError(`there is no service ${pod.service}`);
    return ledger;
  }

  private create(service: number): Pod {
    const model = this.model.application.services[service];
    if (model === undefined) throw new RangeError(`there is no service ${service}`);
    const deployment = this.deployment(service);
    const ordinal = this.ordinals[service] ?? 0;
    this.ordinals[service] = ordinal + 1;
    const pod = new Pod(
      {
        name: `${model.name}-${ordinal}`,
        service,
        ordinal,
        generation: deployment.generation,
        versionFactor: deployment.versionFactor,
        createdMs: this.sinceMs(),
        model,
      },
      deployment.size,
    );
    this.scheduler.add(pod);
    return pod;
  }

  private placed(pod: Pod): void {
    const nowMs = this.engine.nowMs;
    const ledger = this.ledger(pod);
    ledger.starts += 1;
    ledger.change(NOTHING, pod.holding, nowMs);
    pod.phase = "starting";
    pod.scheduledMs = this.sinceMs();
    if (this.booting) this.becomeReady(pod);
    else this.engine.agenda.at(nowMs + this.startMs(pod, 0), () => this.becomeReady(pod));
  }

  /** When what happens now counts as having happened. */
  private sinceMs(): number {
    return this.booting ? -RAN_BEFORE_MS : this.engine.nowMs;
  }

  private startMs(pod: Pod, restart: number): number {
    const key = this.engine.traffic.services[pod.service]?.compiled.key ?? 0;
    const hash = derive(derive(derive(key, this.seed), pod.ordinal), START + restart);
    return this.samplers.draw(this.startRow, hash);
  }

  private becomeReady(pod: Pod): void {
    const { node } = pod;
    if (pod.phase !== "starting" || node === undefined || node.lost) return;
    const nowMs = this.engine.nowMs;
    const server = pod.server ?? this.engine.addServer(pod.service, pod.ordinal, node);
    if (pod.server === undefined) {
      pod.server = server;
      this.byServer.set(server, pod);
      server.versionFactor = pod.versionFactor;
      this.apply(pod, nowMs);
    }
    server.alive = true;
    server.warmFromMs = this.sinceMs();
    pod.phase = "ready";
    pod.readyMs = this.sinceMs();
    pod.restartedMs = nowMs;
    this.engine.traffic.join(server);
    if (!this.booting) this.deployment(pod.service).reconcile();
  }

  /** Gives the process the size that its pod has. */
  private apply({ model, server, size }: Pod, nowMs: number): void {
    if (server === undefined) return;
    server.memoryLimitBytes = size.memoryLimitBytes ?? Infinity;
    server.main.resize(processorSize({ ...model.container, ...withoutLimit(size), ...size }), nowMs);
  }

  private settleSizes(pods: readonly Pod[]): void {
    const nowMs = this.engine.nowMs;
    for (const pod of pods) {
      const { node, server, wantedSize } = pod;
      if (wantedSize === undefined || node === undefined) continue;
      const held = pod.holding;
      const wanted = pod.holdingAt(wantedSize);
      // The kubelet does not lower a memory limit below what is in use.
      const inUse = server?.memoryBytes ?? 0;
      if (!node.fits(wanted, held) || inUse > (wantedSize.memoryLimitBytes ?? Infinity)) continue;
      node.change(held, wanted, nowMs);
      this.ledger(pod).change(held, wanted, nowMs);
      pod.size = wantedSize;
      pod.wantedSize = undefined;
      this.apply(pod, nowMs);
    }
  }

  private takeDown(pod: Pod): void {
    const { phase, server } = pod;
    pod.phase = "draining";
    if (phase !== "ready" || server === undefined || pod.node?.lost === true) {
      this.gone(pod);
      return;
    }
    this.engine.traffic.leave(server);
    const seconds = this.model.cluster.drainSeconds ?? DRAIN_SECONDS;
    this.watchDrain(pod, server, this.engine.nowMs + 1e3 * seconds);
  }

  private watchDrain(pod: Pod, server: Server, untilMs: number): void {
    const nowMs = this.engine.nowMs;
    this.engine.agenda.at(Math.min(untilMs, nowMs + DRAIN_LOOK_MS), () => {
      if (pod.node === undefined) return;
      if (server.inFlight === 0 || this.engine.nowMs >= untilMs) this.gone(pod);
      else this.watchDrain(pod, server, untilMs);
    });
  }

  private gone(pod: Pod): void {
    const { server } = pod;
    const nowMs = this.engine.nowMs;
    const ledger = this.ledger(pod);
    if (pod.node !== undefined) ledger.stops += 1;
    ledger.change(pod.holding, NOTHING, nowMs);
    if (server !== undefined) {
      ledger.retiredCpuMs += server.main.usedUntil(nowMs) + (server.proxy?.usedUntil(nowMs) ?? 0);
      this.engine.removeServer(server);
      this.byServer.delete(server);
      pod.server = undefined;
    }
    const { pods } = this.deployment(pod.service);
    const at = pods.indexOf(pod);
    if (at !== -1) pods.splice(at, 1);
    pod.phase = "draining";
    this.scheduler.remove(pod);
    this.retrySizes();
  }

  private disturb(node: ClusterNode): void {
    const { speed = 1 } = node.kind ?? {};
    node.demandFactor = this.interference.factorAt(node.index, this.engine.nowMs) / speed;
  }

  private planIncidents(): void {
    const { agenda } = this.engine;
    for (const atMs of this.interference.changesMs()) {
      agenda.at(atMs, () => {
        for (const node of this.scheduler.present) this.disturb(node);
      });
    }
    for (const incident of this.model.incidents ?? []) {
      const atMs = 1e3 * incident.atSeconds;
      if (incident.kind === "node-loss") {
        agenda.at(atMs, () => this.loseNode(incident.node));
      } else if (incident.kind === "deploy") {
        const deployment = this.deploymentOf(incident.service);
        agenda.at(atMs, () => {
          deployment.versionFactor = incident.demandFactor;
          deployment.generation += 1;
          deployment.reconcile();
        });
      } else if (incident.kind === "slow-dependency") {
        const { dependency, factor, untilSeconds } = incident;
        agenda.at(atMs, () => this.slowDown(dependency, factor));
        agenda.at(1e3 * untilSeconds, () => this.slowDown(dependency, 1 / factor));
      }
    }
  }

  private deploymentOf(name: string): Deployment {
    return this.deployment(this.model.application.services.findIndex((each) => each.name === name));
  }

  private slowDown(name: string, factor: number): void {
    const { dependencyFactors, dependencies } = this.engine.traffic;
    const index = dependencies.indexOf(name);
    if (index === -1) throw new RangeError(`there is no dependency '${name}'`);
    dependencyFactors[index] = (dependencyFactors[index] ?? 1) * factor;
  }

  /** Its pods fail every call at once, and are replaced when the cluster has noticed. */
  private loseNode(index: number): void {
    const node = this.scheduler.nodes[index];
    if (node === undefined) throw new RangeError(`there is no node ${index}`);
    this.scheduler.lose(node);
    const lost = this.deployments.flatMap(({ pods }) => pods.filter((pod) => pod.node === node));
    for (const { server } of lost) {
      if (server !== undefined) this.engine.traffic.kill(server);
    }
    this.engine.agenda.at(this.engine.nowMs + 1e3 * NODE_LOSS_SECONDS, () => {
      for (const pod of lost) if (pod.node === node) this.gone(pod);
      for (const deployment of this.deployments) deployment.reconcile();
    });
  }
}

/** A size without limits takes away the limits that the model had. */
function withoutLimit({ cpuLimitCores }: ContainerSize): { cpuLimitCores?: number } {
  return cpuLimitCores === undefined ? { cpuLimitCores: Infinity } : {};
}
