import { LatencySketch } from "./latency-sketch.ts";

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
  readonly services = new Set<number>();
  requests = 0;
  errors = 0;
}

/** Requests of one service in one interval. `requests` and `errors` are weighted by sampling. */
export class ServiceAccumulator {
  readonly own = new LatencySketch();
  readonly response = new LatencySketch();
  /** By number of the called service. */
  readonly callees = new Map<number, EdgeAccumulator>();
  /** Flows that enter here, by root operation. */
  readonly flows = new Map<string, FlowAccumulator>();
  requests = 0;
  errors = 0;

  record(responseNs: number, ownNs: number, weight: number, failed: boolean): void {
    this.requests += weight;
    if (failed) this.errors += weight;
    this.response.add(responseNs);
    this.own.add(ownNs);
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
