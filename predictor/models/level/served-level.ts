import { MEDIAN } from "../network/shape.ts";
import { emptyNetworkAnswer } from "../network/head.ts";
import type { LatencyNetwork, NetworkState } from "../network/latency-network.ts";
import { LEAST_LOAD, logLoad } from "../network/window-inputs.ts";
import { predictOwnTime } from "../queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "../queue/tracked-profile.ts";
import { levelAt, sigmaOf } from "./level-memory.ts";
import type { LevelMemory, ModelLogs } from "./level-memory.ts";

/** Size and load of one container. */
export interface Place {
  /** CPU limit; undefined: none. */
  readonly cpuCores: number | undefined;
  /** Requests per second. */
  readonly loadPerContainer: number;
}

/** A network and what it knows of one service. */
export interface NetworkOfService {
  readonly network: LatencyNetwork;
  readonly state: NetworkState;
}

/** What is known of a service besides its queueing profile. */
export interface KnownService {
  /** Undefined: the curve alone says the shape. */
  readonly network: NetworkOfService | undefined;
  readonly level: LevelMemory | undefined;
  /** Size and load of its containers in the last window. */
  readonly here: Place;
}

const curve: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
const answer = emptyNetworkAnswer();

/** ln self time at a place, by the curve and by the network; the curve's in place of a network that is not there, or says no number. */
export function askModels(
  profile: ProfileState,
  network: NetworkOfService | undefined,
  place: Place,
  percentile: LevelMemory["percentile"],
): ModelLogs {
  predictOwnTime(profile, place, percentile, curve);
  const log = Math.log(curve.tailSeconds);
  if (network === undefined) return { curve: log, network: log };
  network.network.at(network.state, place, answer, true);
  // The network says the p95: how far the curve is off there is how far it is off at the percentile.
  const said = log + (answer.logs[MEDIAN] as number) - answer.curveLog;
  return { curve: log, network: Number.isFinite(said) ? said : log };
}

/** Standard deviation of ln self time per distance, as ln, of load and of size from where it runs. */
const SIGMA_PER_DISTANCE = 0.3;

/**
 * Self times of one service in one decision: the level where it runs is that of its last windows; what another size or load makes of it
 * is the geometric mean of what the curve and the network say.
 */
export class ServedLevel {
  private readonly known: KnownService;
  /** ln of the level where it runs over what the curve says there. */
  private readonly offset: number;
  /** ln of the network's p95 where it runs over what the curve says there; NaN: the curve alone says the shape. */
  private readonly apart: number = Number.NaN;
  private readonly sigma: number;

  /** @param profile on the nodes where it runs */
  constructor(profile: ProfileState, percentile: LevelMemory["percentile"], known: KnownService) {
    const { here, level, network } = known;
    this.known = known;
    this.sigma = sigmaOf(level);
    const models = askModels(profile, network, here, percentile);
    this.offset = levelAt(level, logLoad(here.loadPerContainer), models) - models.curve;
    if (network !== undefined) this.apart = (answer.logs[MEDIAN] as number) - models.curve;
  }

  /**
   * Turns what the curve says at a place into what is served, slopes with it. Allocates nothing.
   * @param isTailAlone nothing else is asked for
   * @param base the curve at the place on the nodes where it runs; by default `out`
   */
  apply(place: Place, out: OwnTime, isTailAlone: boolean, base: OwnTime = out): void {
    const { network } = this.known;
    let log = this.offset;
    let [byCores, byLoad] = [0, 0];
    if (network !== undefined) {
      network.network.at(network.state, place, answer, isTailAlone);
      const apart = (answer.logs[MEDIAN] as number) - Math.log(base.tailSeconds) - this.apart;
      if (Number.isFinite(apart)) {
        log += apart / 2;
        byCores = (answer.byCores / (place.cpuCores ?? Infinity) - base.tailByCores / base.tailSeconds) / 2;
        byLoad =
          (answer.byLoad / Math.max(LEAST_LOAD, place.loadPerContainer) -
            base.tailByLoad / base.tailSeconds) /
          2;
      }
    }
    const factor = Math.exp(log);
    if (!isTailAlone) {
      out.tailByCores = Math.min(0, factor * (out.tailByCores + out.tailSeconds * byCores));
      out.tailByLoad = Math.max(0, factor * (out.tailByLoad + out.tailSeconds * byLoad));
      out.sigma = this.sigmaAt(place);
      out.meanSeconds *= factor;
    }
    out.tailSeconds *= factor;
  }

  /** What the network makes of the ratio of two places beyond what the curve says of it, as a factor. */
  shapeOver(profile: ProfileState, percentile: LevelMemory["percentile"], from: Place, to: Place): number {
    const { network } = this.known;
    const [here, there] = [from, to].map((place) => askModels(profile, network, place, percentile));
    if (here === undefined || there === undefined) return 1;
    return Math.exp((there.network - there.curve - here.network + here.curve) / 2);
  }

  private sigmaAt(place: Place): number {
    const { here } = this.known;
    const distance =
      Math.abs(logLoad(place.loadPerContainer) - logLoad(here.loadPerContainer)) +
      Math.abs(Math.log((place.cpuCores ?? 1) / (here.cpuCores ?? 1)));
    return Math.hypot(this.sigma, SIGMA_PER_DISTANCE * distance);
  }
}
