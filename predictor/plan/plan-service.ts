/** What one container of a service gets, and how many there are. */
export interface Size {
  readonly replicas: number;
  /** Per container. */
  readonly cpuCores: number;
  /** Per container. */
  readonly memoryBytes: number;
}

/** Own tail latency of a service from what each container gets and bears. */
export interface OwnTailModel {
  /**
   * Own tail of the worst container, seconds: finite and not negative for any finite input, not increasing in
   * `cpuCores` and `memoryBytes`, not decreasing in `requestsPerSecondPerReplica`.
   */
  ownTailSeconds(cpuCores: number, memoryBytes: number, requestsPerSecondPerReplica: number): number;
}

/** One service as the plan sees it. */
export interface PlanService {
  readonly name: string;
  /** Load of the whole service at the horizon, requests per second. */
  readonly requestsPerSecond: number;
  readonly size: Size;
  /** Least size: configured minimum or what the service needs right now, whichever is more. */
  readonly floor: Size;
  readonly ceiling: Size;
  /** Least CPU of all containers together, cores: what the service needs right now however it is cut up. */
  readonly leastCpuCores?: number;
  /** Most CPU of all containers together that one plan may come to, cores. */
  readonly mostCpuCores?: number;
  /** One step, of all containers of the service together for CPU and memory. */
  readonly stepCpuCores: number;
  readonly stepMemoryBytes: number;
  /** Set where a container's size has to be a multiple of something: then a step moves each container to the next one. */
  readonly quantum?: { readonly cpuCores: number; readonly memoryBytes: number };
  /** False forbids fewer replicas that are larger for it. */
  readonly mayMerge?: boolean;
  /** Absent where nothing is known of the service: it is left as it is. */
  readonly model?: OwnTailModel;
  /** Own tail as measured, seconds; used where there is no model. */
  readonly measuredOwnTailSeconds: number;
  /** Mean over tail of the service's own time, in (0, 1]. */
  readonly meanOverTail: number;
  /** Steps that one plan may take back here; 0 forbids shrinking. */
  readonly maxStepsBack: number;
}

/** Prices in any one currency: what makes CPU, memory and replicas exchangeable. */
export interface Prices {
  readonly cpuCoreHour: number;
  readonly memoryGigabyteHour: number;
}

/** Price of a service of this size for an hour. */
export function costPerHour(size: Size, prices: Prices): number {
  const container = size.cpuCores * prices.cpuCoreHour + (size.memoryBytes / 1e9) * prices.memoryGigabyteHour;
  return size.replicas * container;
}

/**
 * Price of one core and of one gigabyte by the share of the cluster's capacity that each is (Grad §IV-B): a cluster of
 * 2,000 cores and 8,000 GB makes 2 cores worth 8 GB.
 */
export function capacityPrices(cpuCores: number, memoryBytes: number): Prices {
  return { cpuCoreHour: 1, memoryGigabyteHour: cpuCores / (memoryBytes / 1e9) };
}

export type Resource = "cpu" | "memory" | "replicas";
export const RESOURCES = ["cpu", "memory", "replicas"] as const;
export type Direction = "up" | "down";

/** Rounding slack of bounds, so that ten steps of 0.1 core reach 1 core. */
const BOUND_SLACK = 1e-9;

/**
 * The size one step further, or undefined where a bound is in the way. CPU and memory steps are shared by the
 * containers, so each gets `step / replicas`; what would overshoot a bound stops at it.
 */
export function stepped(
  service: PlanService,
  size: Size,
  resource: Resource,
  direction: Direction,
): Size | undefined {
  const { floor, ceiling } = service;
  if (resource === "replicas") {
    const replicas = size.replicas + (direction === "up" ? 1 : -1);
    if (replicas < Math.max(1, floor.replicas) || replicas > ceiling.replicas) return undefined;
    const next = { ...size, replicas };
    return isAllowed(service, next, direction)
      ? next
      : direction === "down"
        ? merged(service, next)
        : undefined;
  }
  const key = resource === "cpu" ? "cpuCores" : "memoryBytes";
  const value = size[key];
  const further = beyond(service, size, key, direction);
  const next = direction === "up" ? Math.min(further, ceiling[key]) : Math.max(further, floor[key]);
  const moves = direction === "up" ? next > value * (1 + BOUND_SLACK) : next < value * (1 - BOUND_SLACK);
  const to = { ...size, [key]: next };
  return moves && (resource === "memory" || isAllowed(service, to, direction)) ? to : undefined;
}

/** One replica fewer, whose work the others take over: they grow to what the service needs. Only up to the ceiling. */
function merged(service: PlanService, fewer: Size): Size | undefined {
  const { ceiling, leastCpuCores = 0, mayMerge = true, quantum } = service;
  if (quantum === undefined || !mayMerge) return undefined;
  const cpuCores = roundedUp(leastCpuCores / fewer.replicas, quantum.cpuCores);
  return cpuCores <= ceiling.cpuCores * (1 + BOUND_SLACK) ? { ...fewer, cpuCores } : undefined;
}

function beyond(
  { quantum, stepCpuCores, stepMemoryBytes }: PlanService,
  size: Size,
  key: "cpuCores" | "memoryBytes",
  direction: Direction,
): number {
  const value = size[key];
  if (quantum !== undefined) {
    const multiples = value / quantum[key];
    return (
      quantum[key] *
      (direction === "up" ? Math.floor(multiples + BOUND_SLACK) + 1 : Math.ceil(multiples - BOUND_SLACK) - 1)
    );
  }
  const step = (key === "cpuCores" ? stepCpuCores : stepMemoryBytes) / size.replicas;
  return direction === "up" ? value + step : value - step;
}

/** The smallest multiple of `quantum` that is not under `value`. */
export function roundedUp(value: number, quantum: number): number {
  return Math.ceil(value / quantum - BOUND_SLACK) * quantum;
}

/** Whether the CPU of all containers together stays within what one plan may leave and come to. */
function isAllowed(
  { leastCpuCores = 0, mostCpuCores = Number.POSITIVE_INFINITY }: PlanService,
  { cpuCores, replicas }: Size,
  direction: Direction,
): boolean {
  const total = replicas * cpuCores;
  return direction === "up"
    ? total <= mostCpuCores * (1 + BOUND_SLACK)
    : total >= leastCpuCores * (1 - BOUND_SLACK);
}
