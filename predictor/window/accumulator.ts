import { FlowCaller, FlowEdge } from "./flow-stages.ts";
import { LatencySketch, bucketOf } from "./latency-sketch.ts";
import { NO_POD } from "./span-arena.ts";

/** Calls of one service to another, summed up. Counts are weighted by sampling. */
export class EdgeAccumulator {
  calls = 0;
  parallelCalls = 0;
  /** Of calls seen from both sides: how many, and by how much the caller's span was longer in all. */
  measured = 0;
  transitNs = 0;
}

export class FlowAccumulator {
  readonly latency = new LatencySketch();
  /** By number of the service. */
  readonly callers = new Map<number, FlowCaller>();
  /** Calls of all callers, in the order in which they were seen first. */
  readonly calls: FlowEdge[] = [];
  readonly services = new Set<number>();
  requests = 0;
  errors = 0;
  /** One of them took no longer than requests do that are no streams. */
  isAnswered = false;

  caller(service: number): FlowCaller {
    let caller = this.callers.get(service);
    if (caller === undefined) {
      caller = new FlowCaller(service);
      this.callers.set(service, caller);
    }
    return caller;
  }

  call(caller: FlowCaller, callee: number): FlowEdge {
    let edge = caller.callees.get(callee);
    if (edge === undefined) {
      edge = new FlowEdge(caller.number, callee, this.calls.length);
      caller.callees.set(callee, edge);
      this.calls.push(edge);
    }
    return edge;
  }
}

/** Pods of one service whose latency is told apart in one interval. */
const MOST_PODS = 200;

/** Requests of one service in one interval. `requests` and `errors` are weighted by sampling. */
export class ServiceAccumulator {
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
  /** Own latency of requests whose pod is not told apart. */
  private readonly podless = new LatencySketch();
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

  /** Own latency of all requests. */
  get own(): LatencySketch {
    const parts = [this.podless, ...this.pods.values()].filter(({ count }) => count > 0);
    const [only] = parts;
    if (parts.length <= 1) return only ?? this.podless;
    const all = new LatencySketch();
    for (const part of parts) all.merge(part);
    return all;
  }

  /**
   * @param pod number of the pod, or `NO_POD`
   * @returns whether its pod is told apart, if it has one: no further one is where the service has as many as are
   */
  record(responseNs: number, ownNs: number, weight: number, failed: boolean, pod: number): boolean {
    this.requests += weight;
    if (failed) this.errors += weight;
    const bucket = bucketOf(responseNs);
    this.response.put(responseNs, bucket);
    const sketch = pod === NO_POD ? this.podless : this.pod(pod);
    (sketch ?? this.podless).put(ownNs, ownNs === responseNs ? bucket : bucketOf(ownNs));
    return sketch !== undefined;
  }

  private pod(pod: number): LatencySketch | undefined {
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
