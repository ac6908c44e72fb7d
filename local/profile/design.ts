import { contentHash } from "@tradewind/core/values/hash.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type {
  ContainerSize,
  Flow,
  ServiceDefinition,
  SizeBounds,
  Topology,
} from "../application/topology.ts";
import type { AnomalyResource } from "../interference/anomaly.ts";
import { demandPerRequest } from "./demand.ts";

export interface ServiceSetting {
  readonly service: string;
  readonly replicas: number;
  readonly size: ContainerSize;
}

/** One setting of everything that is swept. */
export interface Configuration {
  /** Follows from the settings. */
  readonly id: string;
  /** Offered to the application. */
  readonly requestsPerSecond: number;
  /** Absent: nothing disturbs. */
  readonly disturbance?: { readonly resource: AnomalyResource; readonly intensity: number };
  readonly services: readonly ServiceSetting[];
}

/** Configurations that a Latin hypercube spans together; more configurations are more of these. */
const BLOCK = 20;
/** Starting replicas costs time: as many configurations in a row keep theirs. */
const SAME_REPLICAS = 4;
const MOST_REPLICAS = 3;
export const LOAD_RANGE = { from: 20, to: 110 } as const;
/**
 * Shares of the flows while profiling: rare ones more often than in daily traffic, so that every service is called often
 * enough for a percentile to mean something.
 */
export const SWEEP_FLOWS: readonly Flow[] = [
  { route: "GET /hotels", share: 0.45 },
  { route: "GET /recommendations", share: 0.25 },
  { route: "POST /reservation", share: 0.2 },
  { route: "POST /user", share: 0.1 },
];
/** Utilisation that most services are given, and the one that is to be the bottleneck: past saturation for some. */
const CALM = { from: 0.15, to: 0.75 } as const;
const BOTTLENECK = { from: 0.3, to: 1.25 } as const;
const MEMORY = { from: 160 * 2 ** 20, to: 384 * 2 ** 20 } as const;
const UNDISTURBED_SHARE = 0.4;
/** Of all configurations, what disturbs them; the rest is undisturbed. */
const DISTURBED_SHARES = [
  ["cpu", 0.2],
  ["bandwidth", 0.1],
  ["memory", 0.1],
  ["network", 0.1],
  ["disk", 0.1],
] as const;
const LEVELS = [0.3, 0.5, 0.7] as const;

interface Range {
  readonly from: number;
  readonly to: number;
}

const between = ({ from, to }: Range, point: number): number => from + (to - from) * point;

/** One coordinate of a Latin hypercube: each of `count` equal strata of [0, 1) is visited once, in random order. */
export function strata(count: number, rng: Rng): readonly number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(rng() * (last + 1));
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order.map((stratum) => (stratum + rng()) / count);
}

function stepped(value: number, step: number, from: number, to: number): number {
  const rounded = Math.round(Math.min(to, Math.max(from, value)) / step) * step;
  return Number(Math.min(to, Math.max(from, rounded)).toFixed(6));
}

type Bearable = Readonly<Record<AnomalyResource, number>>;

/** Interference at a point of its coordinate, as far as the machine bears it. */
function disturbanceAt(point: number, most: Bearable): Configuration["disturbance"] {
  let from = UNDISTURBED_SHARE;
  for (const [resource, share] of DISTURBED_SHARES) {
    const place = (point - from) / share;
    from += share;
    if (place < 0 || place >= 1) continue;
    const levels = LEVELS.filter((level) => level <= most[resource]);
    const intensity = levels[Math.floor(place * levels.length)];
    return intensity === undefined ? undefined : { resource, intensity };
  }
  return undefined;
}

/** Limits that bring the replicas to a utilisation, in the steps and bounds of the service. */
function sizeFor(
  { step, min, max }: SizeBounds,
  demandCores: number,
  replicas: number,
  [utilisation, memoryPoint]: readonly [number, number],
): ContainerSize {
  return {
    cpuCores: stepped(demandCores / (replicas * utilisation), step.cpuCores, min.cpuCores, max.cpuCores),
    memoryBytes: stepped(between(MEMORY, memoryPoint), step.memoryBytes, min.memoryBytes, max.memoryBytes),
  };
}

function configurationId(rest: Omit<Configuration, "id">): string {
  return contentHash(rest);
}

interface ServiceStrata {
  readonly definition: ServiceDefinition;
  readonly replicas: readonly number[];
  readonly utilisation: readonly number[];
  readonly memory: readonly number[];
}

function designBlock(topology: Topology, rng: Rng, most: Bearable): Configuration[] {
  const demand = demandPerRequest(topology, SWEEP_FLOWS);
  const load = strata(BLOCK, rng);
  const disturbance = strata(BLOCK, rng);
  const bottleneck = strata(BLOCK, rng);
  const services = topology.services.map((definition): ServiceStrata => ({
    definition,
    replicas: strata(Math.ceil(BLOCK / SAME_REPLICAS), rng),
    utilisation: strata(BLOCK, rng),
    memory: strata(BLOCK, rng),
  }));
  return Array.from({ length: BLOCK }, (_, index) => {
    const requestsPerSecond = Math.round(10 * between(LOAD_RANGE, load[index] ?? 0)) / 10;
    const counts = services.map(({ definition, replicas }) => {
      const most = Math.min(MOST_REPLICAS, definition.maxReplicas);
      return 1 + Math.floor((replicas[Math.floor(index / SAME_REPLICAS)] ?? 0) * most);
    });
    const coresOf = ({ definition: { name } }: ServiceStrata): number =>
      requestsPerSecond * (demand.get(name) ?? 0);
    // Only a service whose smallest limit is small enough can be taken past saturation.
    const narrowable = services.filter(
      (each, place) =>
        coresOf(each) / ((counts[place] ?? 1) * BOTTLENECK.to) >= each.definition.sizeBounds.min.cpuCores,
    );
    const narrow = narrowable[Math.floor((bottleneck[index] ?? 0) * narrowable.length)];
    const disturbed = disturbanceAt(disturbance[index] ?? 0, most);
    const settings = services.map((each, place): ServiceSetting => {
      const { definition, utilisation, memory } = each;
      const replicas = counts[place] ?? 1;
      const target = between(each === narrow ? BOTTLENECK : CALM, utilisation[index] ?? 0);
      const size = sizeFor(definition.sizeBounds, coresOf(each), replicas, [target, memory[index] ?? 0]);
      return { service: definition.name, replicas, size };
    });
    const rest = {
      requestsPerSecond,
      ...(disturbed !== undefined && { disturbance: disturbed }),
      services: settings,
    };
    return { id: configurationId(rest), ...rest };
  });
}

/**
 * The configurations of a sweep: load × CPU and memory limit × replicas × interference, in blocks of Latin hypercubes, so
 * that a longer sweep with the same seed begins with the shorter one. CPU limits follow from a target utilisation; one
 * service at a time is the bottleneck and taken past saturation.
 * @param most of each resource that interference may take on this machine, as intensities; under 0.3 for none
 */
export function designSweep(
  topology: Topology,
  count: number,
  seed: number,
  most: Bearable,
): readonly Configuration[] {
  const configurations: Configuration[] = [];
  for (let block = 0; configurations.length < count; block += 1) {
    const rng = seededRng(Math.imul(seed + 1, 0x9e3779b1) + block);
    configurations.push(...designBlock(topology, rng, most));
  }
  return configurations.slice(0, count);
}

/** `none`, `cpu-0.5`. */
export const interferenceName = ({ disturbance }: Pick<Configuration, "disturbance">): string =>
  disturbance === undefined ? "none" : `${disturbance.resource}-${disturbance.intensity}`;
