import { FlowEdge, FlowStages } from "./flow-stages.ts";
import { LatencySketch } from "./latency-sketch.ts";

/** Calls of one service to another, summed up. Counts are weighted by sampling. */
export class EdgeAccumulator {
  calls = 0;
  parallelCalls = 0;
  /** Of calls seen from both sides: how many, and by how much the caller's span was longer in all. */
  measured = 0;
  transitNs = 0;
}

/** More than there are numbers of services. */
const SERVICE_NUMBERS = 2 ** 20;

export class FlowAccumulator {
  readonly latency = new LatencySketch();
  /** By caller and callee together. */
  readonly calls = new Map<number, FlowEdge>();
  readonly stages = new FlowStages();
  readonly services = new Set<number>();
  requests = 0;
  errors = 0;
  /** One of them took no longer than requests do that are no streams. */
  isAnswered = false;

  call(caller: number, callee: number): FlowEdge {
    const key = caller * SERVICE_NUMBERS + callee;
    let edge = this.calls.get(key);
    if (edge === undefined) {
      edge = new FlowEdge(caller, callee, this.calls.size);
      this.calls.set(key, edge);
    }
    return edge;
  }
}

/** Pods of one service whose latency is told apart in one interval. */
const MOST_PODS = 200;

/** Requests of one service in one interval. `requests` and `errors` are weighted by sampling. */
export class ServiceAccumulator {
  readonly own = new LatencySketch();
  readonly response = new LatencySketch();
  /** Own latency by number of the pod. */
  readonly pods = new Map<number, LatencySketch>();
  /** By number of the called service. */
  readonly callees = new Map<number, EdgeAccumulator>();
  /** Flows that enter here, by root operation. */
  readonly flows = new Map<string, FlowAccumulator>();
  requests = 0;
  errors = 0;
  /** Calls of which no span of the called service is known. */
  unresolvedCalls = 0;
  /** Time of all its streams together, ns. */
  streamNs = 0;
  private others: ServiceAccumulator | undefined;

  /** What is kept apart from its requests: work that nobody asked for, with its flows, and what streams left unanswered. */
  get apart(): ServiceAccumulator {
    return (this.others ??= new ServiceAccumulator());
  }

  get hasApart(): boolean {
    return this.others !== undefined;
  }

  record(responseNs: number, ownNs: number, weight: number, failed: boolean): void {
    this.requests += weight;
    if (failed) this.errors += weight;
    this.response.add(responseNs);
    this.own.add(ownNs);
  }

  /** Own latency of a pod; undefined where the service has as many pods as are told apart, without it. */
  pod(pod: number): LatencySketch | undefined {
    let sketch = this.pods.get(pod);
    if (sketch === undefined && this.pods.size < MOST_PODS) {
      sketch = new LatencySketch();
      this.pods.set(pod, sketch);
    }
    return sketch;
  }

  callee(service: number): EdgeAccumulator {
    let edge = this.callees.get(service);
    if (edge === undefined) {
      edge = new EdgeAccumulator();
      this.callees.set(service, edge);
    }
    return edge;
  }
}

/** All requests that ended in one interval, by number of the service. */
export class IntervalAccumulator {
  readonly services = new Map<number, ServiceAccumulator>();

  service(service: number): ServiceAccumulator {
    let accumulator = this.services.get(service);
    if (accumulator === undefined) {
      accumulator = new ServiceAccumulator();
      this.services.set(service, accumulator);
    }
    return accumulator;
  }
}
