import { MEDIAN } from "../network/shape.ts";
import { emptyNetworkAnswer } from "../network/head.ts";
import type { LatencyNetwork, NetworkState } from "../network/latency-network.ts";
import { LEAST_LOAD } from "../network/window-inputs.ts";
import { predictOwnTime } from "../queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "../queue/tracked-profile.ts";
import { networkShare } from "./level-memory.ts";
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

/**
 * What another size or load makes of the self times of one service in one decision: the curve's answer, turned by the share of the
 * network's that its record of changes gives it (see level-memory.ts). Where it runs, the curve's answer stands.
 */
export class MixedShape {
  private readonly network: NetworkOfService | undefined;
  /** Share of the network, [0, 1]. */
  private readonly share: number;
  /** ln of the network's p95 where it runs over what the curve says there. */
  private readonly apart: number = 0;

  /** @param profile on the nodes where it runs */
  constructor(profile: ProfileState, percentile: LevelMemory["percentile"], known: KnownService) {
    const { here, level, network } = known;
    this.share = network === undefined ? 0 : networkShare(level);
    this.network = this.share === 0 ? undefined : network;
    if (this.network === undefined) return;
    const { curve: curveLog } = askModels(profile, this.network, here, percentile);
    this.apart = (answer.logs[MEDIAN] as number) - curveLog;
  }

  /**
   * Turns what the curve says at a place into what both say, slopes with it. Allocates nothing.
   * @param isTailAlone nothing else is asked for
   * @param base the curve at the place on the nodes where it runs; by default `out`
   */
  apply(place: Place, out: OwnTime, isTailAlone: boolean, base: OwnTime = out): void {
    const { network, share } = this;
    if (network === undefined) return;
    network.network.at(network.state, place, answer, isTailAlone);
    const apart = (answer.logs[MEDIAN] as number) - Math.log(base.tailSeconds) - this.apart;
    if (!Number.isFinite(apart)) return;
    const factor = Math.exp(share * apart);
    if (!isTailAlone) {
      const byCores = answer.byCores / (place.cpuCores ?? Infinity) - base.tailByCores / base.tailSeconds;
      const byLoad =
        answer.byLoad / Math.max(LEAST_LOAD, place.loadPerContainer) - base.tailByLoad / base.tailSeconds;
      out.tailByCores = Math.min(0, factor * (out.tailByCores + share * out.tailSeconds * byCores));
      out.tailByLoad = Math.max(0, factor * (out.tailByLoad + share * out.tailSeconds * byLoad));
      out.meanSeconds *= factor;
    }
    out.tailSeconds *= factor;
  }

  /** What the network makes of the ratio of two places beyond what the curve says of it, as a factor. */
  factorOver(profile: ProfileState, percentile: LevelMemory["percentile"], from: Place, to: Place): number {
    const { network, share } = this;
    if (network === undefined) return 1;
    const here = askModels(profile, network, from, percentile);
    const there = askModels(profile, network, to, percentile);
    return Math.exp(share * (there.network - there.curve - here.network + here.curve));
  }
}
