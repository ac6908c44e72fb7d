import type { RealProcess } from "./process.ts";

const EVERY_MS = 100;
const LIVENESS_EVERY_MS = 1_000;
/** Longest wait for `/healthz`; the chart's is 5 s at a fifth of the rhythm. */
const LIVENESS_MS = 1_000;

/** Watches memory and liveness of processes, as a kubelet would at its own rhythm over five. */
export class Vitals {
  /** Most resident bytes of any one process. */
  rssBytesMax = 0;
  /** Most failures of liveness in a row of any exporter; the kubelet ends one at 4. */
  livenessFailuresMax = 0;
  private readonly processes: () => readonly (RealProcess | undefined)[];
  private readonly failures = new Map<RealProcess, number>();
  private readonly timers: NodeJS.Timeout[];
  private readonly asking = new Set<RealProcess>();

  constructor(processes: () => readonly (RealProcess | undefined)[]) {
    this.processes = processes;
    this.timers = [
      setInterval(() => this.weigh(), EVERY_MS),
      setInterval(() => this.feelPulses(), LIVENESS_EVERY_MS),
    ];
  }

  /** Forgets what was measured so far. */
  reset(): void {
    this.rssBytesMax = 0;
    this.livenessFailuresMax = 0;
    this.failures.clear();
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
  }

  private weigh(): void {
    for (const each of this.processes()) {
      this.rssBytesMax = Math.max(this.rssBytesMax, each?.residentBytes() ?? 0);
    }
  }

  private feelPulses(): void {
    for (const each of this.processes()) {
      if (each?.name === "exporter" && each.isAlive && !this.asking.has(each)) void this.feelPulse(each);
    }
  }

  private async feelPulse(each: RealProcess): Promise<void> {
    this.asking.add(each);
    const address = each.addresses["probe"] ?? each.addresses["http"] ?? "";
    const isWell = await fetch(`${address}/healthz`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(LIVENESS_MS),
    })
      .then(async (answer) => {
        await answer.arrayBuffer();
        return answer.ok;
      })
      .catch(() => false);
    const failures = isWell ? 0 : (this.failures.get(each) ?? 0) + 1;
    this.failures.set(each, failures);
    this.livenessFailuresMax = Math.max(this.livenessFailuresMax, failures);
    this.asking.delete(each);
  }
}
