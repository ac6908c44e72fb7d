import { FlowPredictor } from "../endtoend/flow-predictor.ts";
import type { Direction, PlanService, Resource, Size } from "./plan-service.ts";
import { costPerHour, RESOURCES, stepped } from "./plan-service.ts";
import type { PlanFlow, PlanOptions, PlanStep } from "./prepare.ts";

/** Three resources, up and down. */
const CANDIDATES_PER_SERVICE = 6;

/** A step that could be taken. */
export interface Candidate {
  readonly service: number;
  readonly resource: Resource;
  readonly direction: Direction;
  readonly to: Size;
  /** Own tail of the service after the step, seconds. */
  readonly ownTailSeconds: number;
  /** Change of the price per hour. */
  readonly costPerHour: number;
}

/** The application in the middle of a plan: sizes, own tails, flow tails, and the steps so far. */
export class PlanState {
  readonly services: readonly PlanService[];
  readonly steps: PlanStep[] = [];
  readonly #options: PlanOptions;
  readonly #sizes: Size[];
  readonly #ownTail: Float64Array;
  readonly #flows: FlowPredictor[];
  readonly #calibration: readonly number[];
  readonly #flowsOf: number[][];
  /** Candidates depend on nothing but their own service's size: kept until that changes. */
  readonly #candidates: (Candidate | "none" | undefined)[];
  /** Least price of a step up by service, per hour: NaN where it is to be worked out, infinite where none is possible. */
  readonly #leastStepCost: Float64Array;
  #pods = 0;
  #cpuCores = 0;
  #memoryBytes = 0;

  constructor(services: readonly PlanService[], flows: readonly PlanFlow[], options: PlanOptions) {
    this.services = services;
    this.#options = options;
    this.#sizes = services.map(({ size }) => size);
    this.#ownTail = Float64Array.from(services, (service) => ownTail(service, service.size));
    const shares = Float64Array.from(services, ({ meanOverTail }) => meanOverTail);
    this.#flows = flows.map(
      ({ graph, residual }) => new FlowPredictor(graph, this.#ownTail, shares, residual),
    );
    this.#calibration = flows.map(({ calibration }) => calibration);
    this.#flowsOf = services.map(() => []);
    this.#leastStepCost = new Float64Array(services.length).fill(Number.NaN);
    this.#candidates = Array.from({ length: services.length * CANDIDATES_PER_SERVICE });
    for (const [flow, { graph }] of flows.entries()) {
      for (const service of graph.serviceOf) this.#flowsOf[service]?.push(flow);
    }
    for (const size of this.#sizes) this.#count(size, 1);
  }

  sizeOf(service: number): Size {
    const size = this.#sizes[service];
    if (size === undefined) throw new RangeError(`no service ${service} in the plan`);
    return size;
  }

  ownTailOf(service: number): number {
    return this.#ownTail[service] ?? 0;
  }

  get flowCount(): number {
    return this.#flows.length;
  }

  tailOf(flow: number): number {
    return (this.#flows[flow]?.tailSeconds ?? 0) * (this.#calibration[flow] ?? 1);
  }

  worstTailSeconds(): number {
    let worst = 0;
    for (let flow = 0; flow < this.#flows.length; flow += 1) worst = Math.max(worst, this.tailOf(flow));
    return worst;
  }

  /** Adds `weight` × ∂(tail of the flow)/∂(own tail) by service number. */
  addGradient(flow: number, weight: number, out: Float64Array): void {
    this.#flows[flow]?.addGradient(weight * (this.#calibration[flow] ?? 1), out);
  }

  /** Sum over flows of what they miss the limit by, seconds, if the candidate were taken. */
  excessIf(candidate: Candidate, limitSeconds: number): number {
    let excess = 0;
    const own = this.#flowsOf[candidate.service] ?? [];
    for (let flow = 0; flow < this.#flows.length; flow += 1) {
      const tail = own.includes(flow)
        ? (this.#flows[flow]?.tailIf(candidate.service, candidate.ownTailSeconds) ?? 0) *
          (this.#calibration[flow] ?? 1)
        : this.tailOf(flow);
      excess += Math.max(0, tail - limitSeconds);
    }
    return excess;
  }

  excess(limitSeconds: number): number {
    let excess = 0;
    for (let flow = 0; flow < this.#flows.length; flow += 1) {
      excess += Math.max(0, this.tailOf(flow) - limitSeconds);
    }
    return excess;
  }

  totalCostPerHour(): number {
    return this.#sizes.reduce((sum, size) => sum + costPerHour(size, this.#options.prices), 0);
  }

  /** The step in question, or undefined where a bound, a quota or a node's size forbids it, or nothing is known. */
  candidate(service: number, resource: Resource, direction: Direction): Candidate | undefined {
    const slot =
      service * CANDIDATES_PER_SERVICE + RESOURCES.indexOf(resource) * 2 + (direction === "up" ? 1 : 0);
    const known = (this.#candidates[slot] ??= this.#makeCandidate(service, resource, direction) ?? "none");
    if (known === "none") return undefined;
    return direction === "down" || this.#fits(this.sizeOf(service), known.to) ? known : undefined;
  }

  /** Least price of any step up of a service with a model, per hour; infinite where none is possible. */
  leastStepCost(service: number): number {
    const known = this.#leastStepCost[service] ?? Number.NaN;
    if (!Number.isNaN(known)) return known;
    const least = this.#workOutLeastStepCost(service);
    this.#leastStepCost[service] = least;
    return least;
  }

  #workOutLeastStepCost(service: number): number {
    const plan = this.services[service];
    if (plan?.model === undefined) return Number.POSITIVE_INFINITY;
    const from = this.sizeOf(service);
    const before = costPerHour(from, this.#options.prices);
    let least = Number.POSITIVE_INFINITY;
    for (const resource of RESOURCES) {
      const to = stepped(plan, from, resource, "up");
      if (to !== undefined) least = Math.min(least, costPerHour(to, this.#options.prices) - before);
    }
    return least;
  }

  #makeCandidate(service: number, resource: Resource, direction: Direction): Candidate | undefined {
    const plan = this.services[service];
    if (plan?.model === undefined) return undefined;
    const from = this.sizeOf(service);
    const to = stepped(plan, from, resource, direction);
    if (to === undefined) return undefined;
    const prices = this.#options.prices;
    return {
      service,
      resource,
      direction,
      to,
      ownTailSeconds: ownTail(plan, to),
      costPerHour: costPerHour(to, prices) - costPerHour(from, prices),
    };
  }

  /** Takes a step and records it. */
  take(candidate: Candidate): void {
    const tailBeforeSeconds = this.worstTailSeconds();
    const from = this.sizeOf(candidate.service);
    this.#set(candidate.service, candidate.to, candidate.ownTailSeconds);
    this.steps.push({
      service: this.services[candidate.service]?.name ?? "",
      resource: candidate.resource,
      direction: candidate.direction,
      from,
      to: candidate.to,
      tailBeforeSeconds,
      tailAfterSeconds: this.worstTailSeconds(),
      costPerHour: candidate.costPerHour,
    });
  }

  /** Undoes the last step taken for this service, which must be the last step of the plan. */
  undo(service: number): void {
    const step = this.steps.pop();
    const plan = this.services[service];
    if (step !== undefined && plan !== undefined) this.#set(service, step.from, ownTail(plan, step.from));
  }

  #set(service: number, size: Size, ownTailSeconds: number): void {
    this.#count(this.sizeOf(service), -1);
    this.#count(size, 1);
    this.#sizes[service] = size;
    const slot = service * CANDIDATES_PER_SERVICE;
    this.#candidates.fill(undefined, slot, slot + CANDIDATES_PER_SERVICE);
    this.#leastStepCost[service] = Number.NaN;
    this.#ownTail[service] = ownTailSeconds;
    for (const flow of this.#flowsOf[service] ?? []) this.#flows[flow]?.setOwnTail(service, ownTailSeconds);
  }

  #count(size: Size, sign: 1 | -1): void {
    this.#pods += sign * size.replicas;
    this.#cpuCores += sign * size.replicas * size.cpuCores;
    this.#memoryBytes += sign * size.replicas * size.memoryBytes;
  }

  #fits(from: Size, to: Size): boolean {
    const { quota = {}, largestContainer } = this.#options;
    const grows = (total: number, before: number, after: number, limit = Number.POSITIVE_INFINITY): boolean =>
      after <= before || total - before + after <= limit;
    return (
      grows(this.#pods, from.replicas, to.replicas, quota.pods) &&
      grows(this.#cpuCores, from.replicas * from.cpuCores, to.replicas * to.cpuCores, quota.cpuCores) &&
      grows(
        this.#memoryBytes,
        from.replicas * from.memoryBytes,
        to.replicas * to.memoryBytes,
        quota.memoryBytes,
      ) &&
      grows(from.cpuCores, from.cpuCores, to.cpuCores, largestContainer?.cpuCores) &&
      grows(from.memoryBytes, from.memoryBytes, to.memoryBytes, largestContainer?.memoryBytes)
    );
  }
}

function ownTail(service: PlanService, size: Size): number {
  const load = service.requestsPerSecond / Math.max(1, size.replicas);
  const predicted = service.model?.ownTailSeconds(size.cpuCores, size.memoryBytes, load);
  const usable = predicted !== undefined && Number.isFinite(predicted) && predicted >= 0;
  return usable ? predicted : service.measuredOwnTailSeconds;
}
