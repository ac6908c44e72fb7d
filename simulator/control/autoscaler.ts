import { EMPTY_MEMORY, remember, syncHpa } from "@tradewind/core/hpa/hpa.ts";
import type { HpaMemory } from "@tradewind/core/hpa/hpa.ts";
import type { PodView, World } from "../world.ts";
import { poll } from "./activation.ts";
import type { ActivationMemory } from "./activation.ts";
import type { MeasuredPod } from "@tradewind/core/hpa/resource-metric.ts";
import { proposalOf } from "./triggers.ts";
import type { ScaledObject } from "./triggers.ts";

/** The metrics server's sample, 15 s long, ends at whole multiples of this since the start of the run. */
export const SCRAPE_SECONDS = 15;

/** @param sampledAtMs end of the last complete scrape interval */
export function measuredPod(pod: PodView, sampledAtMs: number): MeasuredPod {
  const all = [pod, ...pod.sidecars];
  // Its container runs and is scraped, but what it used does not count: no missing metric, which would count as full use.
  const isStarting = pod.phase === "starting";
  const used = isStarting ? 0 : all.reduce((sum, { cpuUsageCores = Number.NaN }) => sum + cpuUsageCores, 0);
  return {
    isScheduled: pod.phase !== "pending",
    isDeleting: pod.phase === "draining",
    isReady: pod.phase === "ready",
    startedAtMs: pod.createdAtMs,
    readinessChangedAtMs: pod.readyAtMs ?? pod.createdAtMs,
    requested: all.reduce((sum, { cpuRequestCores }) => sum + cpuRequestCores, 0),
    ...(Number.isFinite(used) && { used, sampledAtMs }),
  };
}

/** KEDA's operator and the HorizontalPodAutoscaler it makes, for one ScaledObject. */
export class Autoscaler {
  private readonly world: World;
  private readonly service: string;
  private readonly object: ScaledObject;
  private readonly startMs: number;
  private readonly isScalerDown: (nowMs: number) => boolean;
  private hpa: HpaMemory = EMPTY_MEMORY;
  private activation: ActivationMemory = {};

  constructor(
    world: World,
    service: string,
    object: ScaledObject,
    faults: { readonly startMs: number; readonly isScalerDown: (nowMs: number) => boolean },
  ) {
    this.world = world;
    this.service = service;
    this.object = object;
    this.startMs = faults.startMs;
    this.isScalerDown = faults.isScalerDown;
  }

  poll(nowMs: number): void {
    const { object } = this;
    // Without an external trigger it is an HPA that nobody polls for: never under one replica.
    if (object.triggers.every(({ kind }) => kind === "cpu")) return;
    const current = this.world.replicas(this.service);
    const isDown = this.isScalerDown(nowMs);
    const active = object.triggers.flatMap((trigger) => {
      if (trigger.kind === "cpu") return [];
      return [trigger.isFromScaler && isDown ? undefined : trigger.isActive(nowMs)];
    });
    const { memory, replicas } = poll(object, active, current, this.activation, nowMs);
    this.activation = memory;
    if (replicas !== undefined) this.scale(current, replicas, nowMs);
  }

  sync(nowMs: number): void {
    const { hpa: memory, object } = this;
    const current = this.world.replicas(this.service);
    const scrapeMs = SCRAPE_SECONDS * 1e3;
    const sampledAtMs = this.startMs + Math.floor((nowMs - this.startMs) / scrapeMs) * scrapeMs;
    const pods = this.world.pods(this.service).map((pod) => measuredPod(pod, sampledAtMs));
    const target = { current, pods, nowMs, isScalerDown: this.isScalerDown(nowMs) };
    const proposals = object.triggers.map((trigger) => proposalOf(trigger, target, object.behavior));
    const spec = {
      minReplicas: Math.max(1, object.minReplicaCount),
      maxReplicas: object.maxReplicaCount,
      behavior: object.behavior,
    };
    const decision = syncHpa(spec, proposals, current, memory, nowMs);
    this.hpa = decision.memory;
    this.scale(current, decision.replicas, nowMs);
  }

  private scale(from: number, to: number, nowMs: number): void {
    if (from === to) return;
    this.hpa = remember(this.hpa, { atMs: nowMs, change: to - from }, this.object.behavior);
    this.world.setReplicas(this.service, to);
  }
}
