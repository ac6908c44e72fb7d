import type { ContainerSample, Snapshot } from "@tradewind/core/contract/snapshot.ts";
import type { WishWorkload } from "@tradewind/core/contract/plan.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";

/** An agent that was not heard for so long knows no containers any more: its node may be gone. ms */
const FORGET_MS = 60_000;
/** An agent reads a container that hardly changes once a minute; an older reading is none. s */
const OLDEST_SAMPLE_SECONDS = 75;
/** A container that appears uses CPU that no request asked for while it starts. ms */
const YOUNG_MS = 30_000;

interface KnownContainer {
  readonly sample: ContainerSample;
  /** Since when it is known, on our monotonic clock; undefined: since the first snapshot of its agent. */
  readonly sinceMs: number | undefined;
  readonly throttledRatio: number | undefined;
}

interface AgentReading {
  readonly atMs: number;
  readonly containers: ReadonlyMap<string, KnownContainer>;
}

/** What the newest snapshots of all agents say of services. Pure: it is told what was heard, and when. */
export class AgentReadings {
  private readonly heard = new Map<string, AgentReading>();

  /** @param atMs when the agent was asked, on our monotonic clock */
  hear(agent: string, { containers }: Snapshot, atMs: number): void {
    const before = this.heard.get(agent);
    const known = containers.map((sample): [string, KnownContainer] => {
      const last = before?.containers.get(sample.id);
      const sinceMs = before === undefined ? undefined : last === undefined ? atMs : last.sinceMs;
      const throttledRatio = throttledBetween(last?.sample, sample) ?? last?.throttledRatio;
      return [sample.id, { sample, sinceMs, throttledRatio }];
    });
    this.heard.set(agent, { atMs, containers: new Map(known) });
  }

  /** Agents that are asked no more, and those that have been silent for long, know nothing. */
  forget(agents: readonly string[], nowMs: number): void {
    for (const [agent, { atMs }] of this.heard) {
      if (!agents.includes(agent) || nowMs - atMs > FORGET_MS) this.heard.delete(agent);
    }
  }

  /** Whether containers were read and none has the name of its pod: no reading belongs to a service. */
  get isNameless(): boolean {
    let isAnyRead = false;
    for (const { containers } of this.heard.values()) {
      for (const { sample } of containers.values()) {
        if (sample.podName !== undefined) return false;
        isAnyRead = true;
      }
    }
    return isAnyRead;
  }

  /** Undefined where no container of the service was read. */
  reading(namespace: string, workloads: readonly WishWorkload[]): ServiceReading | undefined {
    const read: (KnownContainer & { readonly atMs: number })[] = [];
    for (const { atMs, containers } of this.heard.values()) {
      for (const container of containers.values()) {
        const { sample, sinceMs } = container;
        const isYoung = sinceMs !== undefined && atMs - sinceMs < YOUNG_MS;
        const counts =
          !isYoung && sample.ageSeconds <= OLDEST_SAMPLE_SECONDS && sample.cpu.usageCores !== undefined;
        if (counts && isOf(sample, namespace, workloads)) read.push({ ...container, atMs });
      }
    }
    if (read.length === 0) return undefined;
    const limit = meanOf(read, ({ sample }) => sample.cpu.limitCores);
    const throttled = meanOf(read, ({ throttledRatio }) => throttledRatio ?? 0);
    const memory = meanOf(read, ({ sample }) => sample.memory.workingSetBytes);
    const memoryLimit = meanOf(read, ({ sample }) => sample.memory.limitBytes);
    return {
      atMs: read.reduce((oldest, { atMs }) => Math.min(oldest, atMs), Infinity),
      pods: read.length,
      cpuCores: read.reduce((sum, { sample }) => sum + (sample.cpu.usageCores ?? 0), 0),
      ...(throttled !== undefined && { throttledRatio: throttled }),
      ...(limit !== undefined && { cpuLimitCores: limit }),
      ...(memory !== undefined && { memoryBytes: memory }),
      ...(memoryLimit !== undefined && { memoryLimitBytes: memoryLimit }),
    };
  }
}

/** Undefined where one of them is not known. */
function meanOf(
  read: readonly KnownContainer[],
  of: (known: KnownContainer) => number | undefined,
): number | undefined {
  let sum = 0;
  for (const known of read) {
    const value = of(known);
    if (value === undefined) return undefined;
    sum += value;
  }
  return sum / read.length;
}

function throttledBetween(before: ContainerSample | undefined, now: ContainerSample): number | undefined {
  const [from, to] = [before?.cpu, now.cpu];
  if (from?.periodsTotal === undefined || to.periodsTotal === undefined) return undefined;
  const periods = to.periodsTotal - from.periodsTotal;
  const throttled = (to.throttledPeriodsTotal ?? 0) - (from.throttledPeriodsTotal ?? 0);
  return periods > 0 && throttled >= 0 ? Math.min(1, throttled / periods) : undefined;
}

/** What follows a workload's name in those of its pods: of a Deployment, a DaemonSet, a StatefulSet, the local platform. */
const SAFE = "[bcdfghjklmnpqrstvwxz2456789]";
const ENDINGS = new RegExp(`^-(${SAFE}{1,10}-${SAFE}{5}|${SAFE}{5}|\\d+|[0-9a-f]{8})$`);

function isOf(sample: ContainerSample, namespace: string, workloads: readonly WishWorkload[]): boolean {
  const { podName } = sample;
  if (podName === undefined || sample.namespace !== namespace) return false;
  return workloads.some(
    ({ container, name }) =>
      podName.startsWith(name) &&
      ENDINGS.test(podName.slice(name.length)) &&
      (container === undefined || sample.containerName === container),
  );
}
