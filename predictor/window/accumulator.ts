import { LatencySketch } from "./latency-sketch.ts";

/** Calls of one service to another, summed up. Counts are weighted by sampling. */
export class EdgeAccumulator {
  calls = 0;
  parallelCalls = 0;
  /** Of calls seen from both sides: how many, and by how much the caller's span was longer in all. */
  measured = 0;
  transitNs = 0;
}

/** Calls of one service to another on behalf of one flow. */
export class FlowEdgeAccumulator {
  calls = 0;
  parallelCalls = 0;
  /** What is summed up for the called service. */
  readonly called: FlowCallerAccumulator;

  constructor(called: FlowCallerAccumulator) {
    this.called = called;
  }
}

/** Requests of one flow that reached one service, and the calls they made and waited for. */
export class FlowCallerAccumulator {
  /** By number of the called service. */
  readonly callees = new Map<number, FlowEdgeAccumulator>();
  requests = 0;
}

export class FlowAccumulator {
  readonly latency = new LatencySketch();
  /** By number of the service; weighted by the sampling of the flow's first request. */
  readonly callers = new Map<number, FlowCallerAccumulator>();
  readonly services = new Set<number>();
  requests = 0;
  errors = 0;

  caller(service: number): FlowCallerAccumulator {
    let caller = this.callers.get(service);
    if (caller === undefined) {
      caller = new FlowCallerAccumulator();
      this.callers.set(service, caller);
    }
    return caller;
  }

  callee(caller: FlowCallerAccumulator, service: number): FlowEdgeAccumulator {
    let edge = caller.callees.get(service);
    if (edge === undefined) {
      edge = new FlowEdgeAccumulator(this.caller(service));
      caller.callees.set(service, edge);
    }
    return edge;
  }
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
