import { createHash } from "node:crypto";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

export const ENTRY = "frontend";
export const POD_CORES = 0.5;
const MOST_REPLICAS = 8;
const MEMORY_BYTES = 256e6;
const NODE = "node-1";

/** A service of the simulated application. */
export interface SoakService {
  readonly name: string;
  /** Called one after the other, once per request. */
  readonly calls: readonly string[];
  readonly cpuSeconds: number;
  readonly pods: SoakPod[];
}

export interface SoakPod {
  readonly name: string;
  /** 64 hexadecimal digits, as a container runtime names it. */
  readonly container: string;
  readonly startedAtMs: number;
  cpuSeconds: number;
}

const CORE: readonly [name: string, calls: readonly string[], cpuSeconds: number][] = [
  [ENTRY, ["search", "profile"], 0.003],
  ["search", ["geo", "rate"], 0.006],
  ["profile", [], 0.004],
  ["geo", [], 0.004],
  ["rate", [], 0.008],
];

/** Requests per second at the entry go in waves around this. */
const MEAN_RATE = 50;
const WAVE = 0.5;

/** An application whose pods, services and load come and go; it only says so, nothing runs. */
export class SoakApplication {
  readonly services = new Map<string, SoakService>();
  private readonly rng: Rng;
  private readonly waveSeconds: number;
  private podsMade = 0;
  private guestsMade = 0;

  /** @param waveSeconds from one peak of load to the next */
  constructor(rng: Rng, waveSeconds: number, nowMs: number) {
    this.rng = rng;
    this.waveSeconds = waveSeconds;
    for (const [name, calls, cpuSeconds] of CORE) this.add(name, calls, cpuSeconds, nowMs);
  }

  /** Requests per second at the entry. */
  rate(nowMs: number): number {
    return MEAN_RATE * (1 + WAVE * Math.sin((2 * Math.PI * nowMs) / 1e3 / this.waveSeconds));
  }

  /** What the entry calls: its own and all guests. */
  callsOf({ name, calls }: SoakService): readonly string[] {
    if (name !== ENTRY) return calls;
    return [...calls, ...this.guests()];
  }

  /** Services that are there for a while only, longest first. */
  guests(): string[] {
    return [...this.services.keys()].filter((name) => name.startsWith("guest-"));
  }

  /** Mean time of a request in the service itself, seconds: processor sharing. */
  meanSeconds({ cpuSeconds, pods }: SoakService, nowMs: number): number {
    const used = (this.rate(nowMs) * cpuSeconds) / (POD_CORES * Math.max(1, pods.length));
    return cpuSeconds / POD_CORES / (1 - Math.min(0.95, used));
  }

  /** Time passes: pods use CPU. */
  advance(nowMs: number, seconds: number): void {
    for (const { cpuSeconds, pods } of this.services.values()) {
      for (const pod of pods) {
        const cores = Math.min(POD_CORES, (this.rate(nowMs) * cpuSeconds) / pods.length);
        pod.cpuSeconds += cores * seconds * (0.9 + 0.2 * this.rng());
      }
    }
  }

  /** A service that was never there before comes. */
  arrive(nowMs: number): void {
    this.guestsMade += 1;
    this.add(`guest-${this.guestsMade}`, [], 0.002, nowMs);
  }

  /** The guest that has been there longest goes. */
  leave(): void {
    const [guest] = this.guests();
    if (guest !== undefined) this.services.delete(guest);
  }

  /** One pod of some service, or with `all` each of them, makes room for a new one. */
  replacePods(all: boolean, nowMs: number): void {
    const services = [...this.services.values()];
    const service = services[Math.floor(this.rng() * services.length)];
    if (service === undefined) return;
    const gone = service.pods.splice(0, all ? service.pods.length : 1);
    for (const _ of gone) service.pods.push(this.pod(service.name, nowMs));
  }

  scale(name: string, replicas: number, nowMs: number): void {
    const pods = this.services.get(name)?.pods;
    if (pods === undefined) return;
    while (pods.length > replicas) pods.pop();
    while (pods.length < replicas) pods.push(this.pod(name, nowMs));
  }

  /** The workloads file. */
  list(nowMs: number): WorkloadList {
    return {
      schema: WORKLOADS_SCHEMA,
      observedAtMs: nowMs,
      workloads: [...this.services.values()].map(({ name, pods }) => ({
        namespace: "default",
        kind: "Deployment",
        name,
        service: name,
        replicasWanted: pods.length,
        replicasReady: pods.length,
        minReplicas: 1,
        maxReplicas: MOST_REPLICAS,
        pods: pods.map((pod) => ({
          uid: pod.container.slice(0, 36),
          name: pod.name,
          node: NODE,
          ready: true,
          startedAtMs: Math.round(pod.startedAtMs),
          containers: [
            {
              id: pod.container,
              name: "main",
              cpuRequestCores: POD_CORES,
              cpuLimitCores: POD_CORES,
              memoryLimitBytes: MEMORY_BYTES,
            },
          ],
        })),
      })),
    };
  }

  private add(name: string, calls: readonly string[], cpuSeconds: number, nowMs: number): void {
    const pods = [this.pod(name, nowMs), this.pod(name, nowMs)];
    this.services.set(name, { name, calls, cpuSeconds, pods });
  }

  private pod(service: string, nowMs: number): SoakPod {
    this.podsMade += 1;
    const name = `${service}-${this.podsMade}`;
    const container = createHash("sha256").update(name).digest("hex");
    return { name, container, startedAtMs: nowMs, cpuSeconds: 0 };
  }
}
