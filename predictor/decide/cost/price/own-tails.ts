import type { OwnTime } from "../../../models/queue/tracked-profile.ts";
import type { Size } from "../../facts/size.ts";
import type { LoadPoint, ServiceToSize } from "./cost-inputs.ts";

/** Self-time tail of one service at one size, by load point. */
export interface SizedTail {
  readonly tailSeconds: readonly number[];
}

/** All of the self time of one service at one size. The arrays are by load point. */
export interface SizedTails extends SizedTail {
  /** In (0, 1]. */
  readonly meanOverTail: readonly number[];
  /** d tail / d CPU limit of a container, seconds per core. */
  readonly tailByCores: readonly number[];
  /** d tail / d requests per second to a container. */
  readonly tailByLoad: readonly number[];
  /** Standard deviation of ln tail at the first load point. */
  readonly sigma: number;
}

/** Self times worked out for one size. */
interface SelfTimes {
  readonly replicas: number;
  readonly cpuCores: number;
  /** Until then the tail is all that is known. */
  isWhole: boolean;
  readonly tailSeconds: number[];
  meanOverTail: number[];
  tailByCores: number[];
  tailByLoad: number[];
  sigma: number;
}

const NONE: number[] = [];

/** For each load point the first one of the same load: above the highest load seen the higher one is the median. */
export const firstAlike = (loads: readonly LoadPoint[]): number[] =>
  loads.map(({ factor }) => loads.findIndex((each) => each.factor === factor));

/** Self times of the services of an application, each worked out once for each size. */
export class OwnTails {
  private readonly services: readonly ServiceToSize[];
  private readonly loads: readonly LoadPoint[];
  /** As many numbers as there are load points: a typed array of three takes longer to make than to fill. */
  private readonly unknown: readonly number[];
  /** See {@link firstAlike}. */
  private readonly alike: readonly number[];
  /** By service. A search comes to a few dozen sizes: looking at one after another is faster than a key for each. */
  private readonly known: SelfTimes[][];
  private readonly out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

  constructor(services: readonly ServiceToSize[], loads: readonly LoadPoint[]) {
    this.services = services;
    this.loads = loads;
    this.unknown = loads.map(() => Number.NaN);
    this.alike = firstAlike(loads);
    this.known = services.map(() => []);
  }

  at(service: number, size: Size): SizedTails {
    const sized = this.sizedAt(service, size);
    if (sized.isWhole) return sized;
    sized.isWhole = true;
    sized.meanOverTail = this.unknown.slice();
    sized.tailByCores = this.unknown.slice();
    sized.tailByLoad = this.unknown.slice();
    for (let load = 0; load < this.loads.length; load += 1) this.evaluate(service, size, load, sized);
    return sized;
  }

  /** The tails of {@link at} alone: for most sizes that a search tries nothing more is read. */
  tailsAt(service: number, size: Size): SizedTail {
    const sized = this.sizedAt(service, size);
    if (!Number.isNaN(sized.tailSeconds[0])) return sized;
    for (let load = 0; load < this.loads.length; load += 1) {
      const alike = this.alike[load] ?? load;
      if (alike === load) this.read(service, size, load, true);
      sized.tailSeconds[load] = alike < load ? (sized.tailSeconds[alike] ?? 0) : this.out.tailSeconds;
    }
    return sized;
  }

  /** What {@link tailsAt} or {@link at} has worked out for this size; undefined where neither has. */
  find(service: number, { cpuCores, replicas }: Size): SelfTimes | undefined {
    const sizes = this.known[service] ?? [];
    for (let index = sizes.length - 1; index >= 0; index -= 1) {
      const times = sizes[index];
      if (times?.replicas === replicas && times.cpuCores === cpuCores) return times;
    }
    return undefined;
  }

  private sizedAt(service: number, size: Size): SelfTimes {
    const found = this.find(service, size);
    if (found !== undefined) return found;
    const { cpuCores, replicas } = size;
    const tailSeconds = this.unknown.slice();
    const sized = { replicas, cpuCores, isWhole: false, tailSeconds, sigma: 0 };
    const made: SelfTimes = { ...sized, meanOverTail: NONE, tailByCores: NONE, tailByLoad: NONE };
    this.known[service]?.push(made);
    return made;
  }

  /** Forgets all sizes of a service but this one and that of one replica more. */
  keep(service: number, size: Size): void {
    const kept = [this.find(service, size), this.find(service, { ...size, replicas: size.replicas + 1 })];
    this.known[service] = kept.filter((each) => each !== undefined);
  }

  private evaluate(service: number, size: Size, load: number, sized: SelfTimes): void {
    const alike = this.alike[load] ?? load;
    if (alike < load) {
      for (const values of [sized.tailSeconds, sized.meanOverTail, sized.tailByCores, sized.tailByLoad])
        values[load] = values[alike] ?? 0;
      return;
    }
    const { out } = this;
    this.read(service, size, load, false);
    sized.tailSeconds[load] = out.tailSeconds;
    sized.meanOverTail[load] = out.tailSeconds > 0 ? Math.min(1, out.meanSeconds / out.tailSeconds) : 1;
    sized.tailByCores[load] = out.tailByCores;
    sized.tailByLoad[load] = out.tailByLoad;
    if (load === 0) sized.sigma = out.sigma;
  }

  /** Into {@link out}. */
  private read(service: number, size: Size, load: number, isTailAlone: boolean): void {
    const { measured, own, requestsPerSecond } = this.services[service] as ServiceToSize;
    if (own === undefined) {
      Object.assign(this.out, measured, { sigma: 0, tailByCores: 0, tailByLoad: 0 });
      return;
    }
    const { factor = 1 } = this.loads[load] ?? {};
    own(size, (factor * requestsPerSecond) / Math.max(1, size.replicas), this.out, isTailAlone);
  }
}
