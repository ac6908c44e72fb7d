import type { Gain, RouteSensitivity, ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Size } from "../../facts/size.ts";
import { TAIL_QUANTILE } from "../../../models/route/lognormal.ts";
import type { ApplicationCost } from "./application-cost.ts";
import type { ServiceToSize } from "./cost-inputs.ts";
import { Slopes } from "./slopes.ts";

/** The interval of a slope is that of the change over this share of the CPU limit: the curve's table has kinks. */
const SLOPE_SHARE = 0.05;
const GIBIBYTE = 2 ** 30;
const NO_MEMORY_EFFECT =
  "the models know no effect of memory on latency; memory is sized by the highest use seen";

/** A change of a service's self-time tail, seconds, with the ends of its 90 % interval; none is above 0. */
interface OwnGain {
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
}

/** One service at the size decided on. */
interface SizedService {
  readonly number: number;
  readonly service: ServiceToSize;
  readonly size: Size;
  /** Self-time tail at the median load, seconds. */
  readonly tailSeconds: number;
  /** Standard deviation of its logarithm. */
  readonly sigma: number;
}

/**
 * What one more unit of each service is worth at the sizes of a decision and the median load. The decision has run the models;
 * nothing more is worked out before somebody asks.
 *
 * - **Per core**: the closed form of Grad. One backward pass over a route's call graph gives `d tail / d self-time tail`; times
 *   `d self-time tail / d CPU limit`, over the replicas, since all containers share one core more.
 * - **Per replica**: the exact difference, since replicas are whole.
 * - **90 % interval**: the change of the self-time tail by the service's profile (delta method over the covariance of the
 *   parameters under each kind of program, mixed by the chances of the kinds, see `change-interval.ts`), passed through the
 *   call graph; the route's own error of composition is added as independent. Without a profile the sigma of the self-time
 *   tail counts as one unknown factor.
 *
 * Nothing is above 0: more never makes slower. Of 2 % of the services of random routes the moments of parallel calls say
 * otherwise (the variance of the longest of them may fall); that counts as 0.
 */
export class Sensitivities {
  readonly #cost: ApplicationCost;
  readonly #prices: Prices;
  readonly #gradients = new Map<number, Float64Array>();
  readonly #scratch: Float64Array;
  #slopes: Slopes | undefined;

  constructor(cost: ApplicationCost, prices: Prices) {
    this.#cost = cost;
    this.#prices = prices;
    this.#scratch = new Float64Array(cost.services.length);
  }

  /** Those services of users' routes that have a model, one after the other: each takes tens of microseconds. */
  *services(): Generator<ServiceSensitivity> {
    for (const [number, service] of this.#cost.services.entries()) {
      if (service.own === undefined || this.#cost.routesThrough(number).length === 0) continue;
      yield this.#of(number, service);
    }
  }

  #of(number: number, service: ServiceToSize): ServiceSensitivity {
    const size = this.#cost.sizeOf(number);
    const { sigma, tailSeconds: tails } = this.#cost.ownAt(number, size);
    const sized = { number, service, size, sigma, tailSeconds: tails[0] ?? 0 };
    const routes = this.#routesOf(sized);
    const [slowest] = routes;
    if (slowest === undefined) throw new RangeError(`'${service.name}' is on no route`);
    const { cpuCoreHour, memoryGigabyteHour } = this.#prices;
    return {
      service: service.name,
      replicas: size.replicas,
      cpuCores: size.cpuCores,
      memoryBytes: size.memoryBytes,
      slowestRoute: slowest.route,
      latencySeconds: slowest.latencySeconds,
      perCore: {
        ...slowest.perCore,
        costPerHour: cpuCoreHour,
        missCostPerHour: notAbove0(this.#missesPerCore(sized)),
      },
      perReplica: {
        ...slowest.perReplica,
        costPerHour: costPerHour({ ...size, replicas: 1 }, this.#prices),
        missCostPerHour: notAbove0(this.#missesPerReplica(sized)),
      },
      perGibibyte: {
        seconds: 0,
        costPerHour: (GIBIBYTE / 1e9) * memoryGigabyteHour,
        reason: NO_MEMORY_EFFECT,
      },
      routes,
    };
  }

  /** Slowest first. */
  #routesOf(sized: SizedService): RouteSensitivity[] {
    const cost = this.#cost;
    const { number, tailSeconds } = sized;
    const [core, replica] = [this.#ownPerCore(sized), this.#ownPerReplica(sized)];
    const routes = cost.routesThrough(number).map((route): RouteSensitivity => {
      const { graph, sigma } = cost.routeOf(route);
      const latencySeconds = cost.tailOf(route);
      const slope = this.#gradientOf(route)[graph.nodeOf[number] ?? -1] ?? 0;
      const exactly = (change: number): number =>
        cost.tailIf(route, number, Math.max(0, tailSeconds + change)) - latencySeconds;
      return {
        route: graph.flow,
        latencySeconds,
        perCore: gainOf(core, (change) => slope * change, sigma),
        perReplica: gainOf(replica, exactly, sigma),
      };
    });
    return routes.sort((a, b) => b.latencySeconds - a.latencySeconds);
  }

  #ownPerCore(sized: SizedService): OwnGain {
    const { number, service, size, tailSeconds } = sized;
    const { cpuCores } = size;
    const slope = (this.#cost.ownAt(number, size).tailByCores[0] ?? 0) / containersOf(size);
    if (service.ownChange === undefined || !(cpuCores > 0)) return unsureBy(sized.sigma, slope);
    const loadPerContainer = this.#cost.loadOf(number, size, 0);
    const { high, low } = service.ownChange(
      { cpuCores, loadPerContainer },
      { cpuCores: (1 + SLOPE_SHARE) * cpuCores, loadPerContainer },
    );
    const perShare = tailSeconds / (SLOPE_SHARE * cpuCores * containersOf(size));
    return around(slope, perShare * low, perShare * high);
  }

  #ownPerReplica(sized: SizedService): OwnGain {
    const { number, service, size, tailSeconds } = sized;
    const larger = oneMore(size);
    const change = (this.#cost.ownAt(number, larger).tailSeconds[0] ?? 0) - tailSeconds;
    if (service.ownChange === undefined) return unsureBy(sized.sigma, change);
    const { cpuCores } = size;
    const { high, low } = service.ownChange(
      { cpuCores, loadPerContainer: this.#cost.loadOf(number, size, 0) },
      { cpuCores, loadPerContainer: this.#cost.loadOf(number, larger, 0) },
    );
    return around(change, tailSeconds * low, tailSeconds * high);
  }

  #missesPerCore({ number, size }: SizedService): number {
    if (this.#slopes === undefined) {
      this.#slopes = new Slopes(this.#cost);
      this.#slopes.update(() => undefined);
    }
    const { tailByCores } = this.#cost.ownAt(number, size);
    let misses = 0;
    for (const [load, byCores] of tailByCores.entries()) misses += this.#slopes.at(load, number) * byCores;
    return misses / containersOf(size);
  }

  #missesPerReplica({ number, size }: SizedService): number {
    const cost = this.#cost;
    const more = oneMore(size);
    return cost.trial(number, more) - (cost.priceOf(number, more) - cost.priceOf(number, size));
  }

  /** `d tail / d self-time tail` at the median load, by node of the route. */
  #gradientOf(route: number): Float64Array {
    const known = this.#gradients.get(route);
    if (known !== undefined) return known;
    const services = this.#cost.servicesOf(route);
    this.#cost.addTailSlopes(route, this.#scratch);
    const gradient = Float64Array.from(services, (service) => this.#scratch[service] ?? 0);
    for (const service of services) this.#scratch[service] = 0;
    this.#gradients.set(route, gradient);
    return gradient;
  }
}

const oneMore = (size: Size): Size => ({ ...size, replicas: size.replicas + 1 });
const containersOf = ({ replicas }: Size): number => Math.max(1, replicas);

/** Adding 0 makes -0 a 0. */
const notAbove0 = (value: number): number => Math.min(0, value) + 0;

/** An interval that holds the value. */
const around = (seconds: number, low: number, high: number): OwnGain => ({
  seconds,
  low: Math.min(seconds, low),
  high: Math.min(0, Math.max(seconds, high)),
});

/** @param sigma standard deviation of the logarithm of a factor on it */
const unsureBy = (sigma: number, seconds: number): OwnGain => ({
  seconds,
  low: seconds * Math.exp(TAIL_QUANTILE * sigma),
  high: seconds * Math.exp(-TAIL_QUANTILE * sigma),
});

/**
 * Change of a route's tail from that of a service's self-time tail.
 * @param through the route's change for one of the service
 * @param sigma standard deviation of the logarithm of the route's error of composition
 */
function gainOf(service: OwnGain, through: (change: number) => number, sigma: number): Gain {
  const seconds = notAbove0(through(service.seconds));
  const ofRoute = TAIL_QUANTILE * sigma * seconds;
  return {
    seconds,
    lowSeconds: notAbove0(seconds - Math.hypot(seconds - Math.min(seconds, through(service.low)), ofRoute)),
    highSeconds: notAbove0(seconds + Math.hypot(Math.max(seconds, through(service.high)) - seconds, ofRoute)),
  };
}
