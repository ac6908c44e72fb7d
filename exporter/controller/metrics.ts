import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { EventResult } from "@tradewind/kubernetes/write/events.ts";
import { RESIZE_RESULTS } from "./resize/resize-part.ts";
import type { ResizeResult } from "./resize/resize-part.ts";

const EVENT_RESULTS: readonly EventResult[] = ["created", "repeated", "dropped", "failed"];
const WRITE_RESULTS = ["written", "failed"] as const;
type WriteResult = (typeof WRITE_RESULTS)[number];

/** What the leader does in the cluster. */
export class ClusterMetrics {
  private readonly events;
  private readonly statusWrites;
  private readonly vpaWrites;
  private readonly resizes;
  private readonly failures;

  /** @param isLeader whether this exporter is the one that writes */
  constructor(registry: Registry, isLeader: () => boolean) {
    const counter = (name: string, help: string, label: string): Counter =>
      new Counter({ name: `tradewind_${name}`, help, labelNames: [label], registers: [registry] });
    this.events = counter("kubernetes_events_total", "Events on workloads by what became of them.", "result");
    this.statusWrites = counter(
      "application_status_writes_total",
      "Writes of an Application's status.",
      "result",
    );
    this.vpaWrites = counter(
      "vpa_status_writes_total",
      "Writes of the status of VPAs that name us.",
      "result",
    );
    this.resizes = counter("pod_resizes_total", "Resizes of running pods in place by outcome.", "result");
    this.failures = counter(
      "leader_failures_total",
      "Rounds of the leader's work that failed, by part.",
      "part",
    );
    for (const result of EVENT_RESULTS) this.events.inc({ result }, 0);
    for (const result of RESIZE_RESULTS) this.resizes.inc({ result }, 0);
    for (const result of WRITE_RESULTS) {
      this.statusWrites.inc({ result }, 0);
      this.vpaWrites.inc({ result }, 0);
    }
    const leader = new Gauge({
      name: "tradewind_leader",
      help: "1 on the scaler that writes to the cluster, 0 on its peers.",
      registers: [registry],
      collect() {
        this.set(Number(isLeader()));
      },
    });
    leader.set(0);
  }

  event(result: EventResult): void {
    this.events.inc({ result });
  }

  statusWrite(result: WriteResult): void {
    this.statusWrites.inc({ result });
  }

  vpaWrite(result: WriteResult): void {
    this.vpaWrites.inc({ result });
  }

  resize(result: ResizeResult): void {
    this.resizes.inc({ result });
  }

  partFailed(part: string): void {
    this.failures.inc({ part });
  }
}
