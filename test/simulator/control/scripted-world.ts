import { Application } from "@tradewind/core/contract/application.ts";
import { DEFAULT_HPA, NO_FAULTS } from "@tradewind/simulator/world.ts";
import type { Plant, PodView, Size, World } from "@tradewind/simulator/world.ts";

export const START_MS = 1_750_000_020_000;

interface ScriptedPod {
  readonly name: string;
  readonly createdAtMs: number;
}

/** One Deployment whose CPU use follows a script: what a test of the control path needs of a world, and no requests. */
export class ScriptedWorld implements World {
  readonly services = ["web"];
  nowMs = START_MS;
  readonly resizes: { readonly atSeconds: number; readonly size: Size; readonly how: string }[] = [];
  readonly changes: { readonly atSeconds: number; readonly replicas: number }[] = [];
  private wanted: number;
  private existing: ScriptedPod[] = [];
  private created = 0;
  private cpuRequestCores = 1;
  private memoryRequestBytes = 512e6;
  private readonly podStartSeconds: number;
  /** Cores that all pods use together, by seconds since the start; spread over the ready ones, at most a core each. */
  private readonly demandCores: (atSeconds: number) => number;

  constructor(replicas: number, podStartSeconds: number, demandCores: (atSeconds: number) => number) {
    this.wanted = replicas;
    this.podStartSeconds = podStartSeconds;
    this.demandCores = demandCores;
    for (let at = 0; at < replicas; at += 1) this.create(START_MS - 3_600_000);
  }

  get atSeconds(): number {
    return (this.nowMs - START_MS) / 1e3;
  }

  advanceTo(untilMs: number): void {
    this.nowMs = untilMs;
  }

  pods(): readonly PodView[] {
    const scrapeMs = START_MS + Math.floor((this.nowMs - START_MS) / 15_000) * 15_000;
    const readyAt = ({ createdAtMs }: ScriptedPod): number => createdAtMs + this.podStartSeconds * 1e3;
    const ready = this.existing.filter((pod) => readyAt(pod) <= scrapeMs - 15_000).length;
    const cores = Math.min(1, this.demandCores((scrapeMs - START_MS) / 1e3) / Math.max(1, ready));
    return this.existing.map((pod) => ({
      name: pod.name,
      service: "web",
      phase: readyAt(pod) <= this.nowMs ? "ready" : "starting",
      createdAtMs: pod.createdAtMs,
      ...(readyAt(pod) <= this.nowMs && { readyAtMs: readyAt(pod) }),
      cpuRequestCores: this.cpuRequestCores,
      memoryRequestBytes: this.memoryRequestBytes,
      cpuUsageCores: cores,
      memoryWorkingSetBytes: 200e6,
      oomKills: 0,
      sidecars: [],
    }));
  }

  setReplicas(_service: string, replicas: number): void {
    this.wanted = replicas;
    this.changes.push({ atSeconds: this.atSeconds, replicas });
    while (this.existing.length < replicas) this.create(this.nowMs);
    this.existing.length = replicas;
  }

  replicas(): number {
    return this.wanted;
  }

  resize(_service: string, size: Size, how: string): void {
    this.cpuRequestCores = size.cpuCores ?? this.cpuRequestCores;
    this.memoryRequestBytes = size.memoryBytes ?? this.memoryRequestBytes;
    this.resizes.push({ atSeconds: this.atSeconds, size, how });
  }

  workloads(): never {
    throw new Error("not scripted");
  }

  windowSet(): never {
    throw new Error("not scripted");
  }

  account(): never {
    throw new Error("not scripted");
  }

  private create(createdAtMs: number): void {
    this.created += 1;
    this.existing.push({ name: `web-${this.created}`, createdAtMs });
  }
}

/** A plant around a scripted world; only what the control path reads. */
export function scriptedPlant(world: World, overrides: Partial<Plant> = {}): Plant {
  return {
    name: "scripted",
    about: "",
    application: Application.parse({ entry: "web", objective: { milliseconds: 150 } }),
    seconds: 3_600,
    startMs: START_MS,
    warmUpSeconds: 0,
    windowSeconds: 15,
    podStartSeconds: 45,
    hpa: DEFAULT_HPA,
    faults: NO_FAULTS,
    create: () => world,
    ...overrides,
  };
}
