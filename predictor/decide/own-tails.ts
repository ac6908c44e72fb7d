import type { OwnTime } from "../models/queue/tracked-profile.ts";
import type { Size } from "../facts/size.ts";
import type { LoadPoint, ServiceToSize } from "./cost-inputs.ts";

/** Self time of one service at one size. The arrays are by load point. */
export interface SizedTails {
  readonly replicas: number;
  readonly cpuCores: number;
  readonly tailSeconds: number[];
  /** In (0, 1]. */
  readonly meanOverTail: number[];
  /** d tail / d CPU limit of a container, seconds per core. */
  readonly tailByCores: number[];
  /** d tail / d requests per second to a container. */
  readonly tailByLoad: number[];
  /** Standard deviation of ln tail at the first load point. */
  sigma: number;
}

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
  private readonly known: SizedTails[][];
  private readonly out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

  constructor(services: readonly ServiceToSize[], loads: readonly LoadPoint[]) {
    this.services = services;
    this.loads = loads;
    this.unknown = loads.map(() => Number.NaN);
    this.alike = firstAlike(loads);
    this.known = services.map(() => []);
  }

  at(service: number, size: Size): SizedTails {
    const found = this.find(service, size);
    if (found !== undefined) return found;
    const sized: SizedTails = {
      replicas: size.replicas,
      cpuCores: size.cpuCores,
      tailSeconds: this.unknown.slice(),
      meanOverTail: this.unknown.slice(),
      tailByCores: this.unknown.slice(),
      tailByLoad: this.unknown.slice(),
      sigma: 0,
    };
    for (let load = 0; load < this.loads.length; load += 1) this.evaluate(service, size, load, sized);
    this.known[service]?.push(sized);
    return sized;
  }

  /** What {@link at} has worked out for this size, if it has. */
  find(service: number, { cpuCores, replicas }: Size): SizedTails | undefined {
    const known = this.known[service] ?? [];
    for (let at = known.length - 1; at >= 0; at -= 1) {
      const each = known[at];
      if (each?.replicas === replicas && each.cpuCores === cpuCores) return each;
    }
    return undefined;
  }

  /** Forgets all sizes of a service but this one and that of one replica more. */
  keep(service: number, size: Size): void {
    const kept = [this.find(service, size), this.find(service, { ...size, replicas: size.replicas + 1 })];
    this.known[service] = kept.filter((each) => each !== undefined);
  }

  private evaluate(at: number, size: Size, load: number, sized: SizedTails): void {
    const alike = this.alike[load] ?? load;
    if (alike < load) {
      for (const values of [sized.tailSeconds, sized.meanOverTail, sized.tailByCores, sized.tailByLoad])
        values[load] = values[alike] ?? 0;
      return;
    }
    const service = this.services[at];
    if (service === undefined) return;
    const { out } = this;
    if (service.own === undefined) {
      Object.assign(out, service.measured, { sigma: 0, tailByCores: 0, tailByLoad: 0 });
    } else {
      const { factor = 1 } = this.loads[load] ?? {};
      service.own(size, (factor * service.requestsPerSecond) / Math.max(1, size.replicas), out);
    }
    sized.tailSeconds[load] = out.tailSeconds;
    sized.meanOverTail[load] = out.tailSeconds > 0 ? Math.min(1, out.meanSeconds / out.tailSeconds) : 1;
    sized.tailByCores[load] = out.tailByCores;
    sized.tailByLoad[load] = out.tailByLoad;
    if (load === 0) sized.sigma = out.sigma;
  }
}
