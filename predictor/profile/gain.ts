import { CPU_CORES, LOAD_PER_CONTAINER, MEMORY_BYTES } from "./inputs.ts";

/** What one unit of each resource is worth where a container stands now; negative seconds are an improvement. */
export interface Move {
  /** CPU cores given to all containers together; negative takes back. */
  readonly cpuCores: number;
  /** Memory given to all containers together, bytes. */
  readonly memoryBytes: number;
}

/**
 * Vertical gain Δv ≈ ∂f/∂u · r/n (Grad Eq. 2): change of own tail latency, seconds, when r is shared by n containers.
 * @param gradient ∂latency/∂input of the worst container
 */
export function verticalGainSeconds(gradient: Float64Array, move: Move, replicas: number): number {
  const cpu = (gradient[CPU_CORES] ?? 0) * move.cpuCores;
  const memory = (gradient[MEMORY_BYTES] ?? 0) * move.memoryBytes;
  return (cpu + memory) / Math.max(1, replicas);
}

/** What makes CPU and memory exchangeable: value of one core and of one byte in any one unit. */
export interface ExchangeRate {
  readonly perCpuCore: number;
  readonly perMemoryByte: number;
}

/** Exchange rate by the cluster's capacity (Grad §IV-B): all cores are worth as much as all memory. Unit: cores. */
export function capacityExchangeRate(clusterCpuCores: number, clusterMemoryBytes: number): ExchangeRate {
  return { perCpuCore: 1, perMemoryByte: clusterCpuCores / clusterMemoryBytes };
}

/** Size of a container (η) or of a move (r) in fungible units. */
export function fungibleUnits(size: Move, rate: ExchangeRate): number {
  return size.cpuCores * rate.perCpuCore + size.memoryBytes * rate.perMemoryByte;
}

/**
 * Horizontal gain Δh ≈ ∂f/∂ρ · (Φ/(n + r/η) − Φ/n) (Grad Eq. 3): change of own tail latency, seconds, when r fungible
 * units become r/η more containers.
 * @param load requests per second of the whole service (Φ)
 * @param unitsPerContainer η, > 0
 */
export function horizontalGainSeconds(
  gradient: Float64Array,
  load: number,
  replicas: number,
  units: number,
  unitsPerContainer: number,
): number {
  const after = replicas + units / unitsPerContainer;
  if (!(replicas > 0) || !(after > 0)) return 0;
  return (gradient[LOAD_PER_CONTAINER] ?? 0) * (load / after - load / replicas);
}
