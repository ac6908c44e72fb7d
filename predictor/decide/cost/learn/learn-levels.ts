import { accuracyOf, levelAfter, mostUnlike, networkShare } from "../../../models/level/level-memory.ts";
import type { LevelAccuracy, LevelMemory, ModelLogs } from "../../../models/level/level-memory.ts";
import { askModels } from "../../../models/level/mixed-shape.ts";
import type { NetworkOfService, Place } from "../../../models/level/mixed-shape.ts";
import { networkMemory, networkState } from "../../../models/network/network-memory.ts";
import { SHIPPED_NAME, shippedNetwork } from "../../../models/network/shipped.ts";
import { logLoad } from "../../../models/network/window-inputs.ts";
import type { NetworkWindow } from "../../../models/network/window-inputs.ts";
import { P50 } from "../../../models/queue/queue-curve.ts";
import { isPositive, LEAST_CALLS } from "../../../models/queue/take-window.ts";
import { demandOf, isCalibrated, STATISTICS } from "../../../models/queue/tracked-profile.ts";
import type { ProfileObservation, ProfileState } from "../../../models/queue/tracked-profile.ts";
import type { ServiceModelMemory } from "./state.ts";

type LevelModels = Pick<ServiceModelMemory, "level" | "network" | "profile">;

/** Windows before a network is asked: the fewest that its training asked it after. */
const LEAST_WINDOWS = 4;

/** The network with what it knows of a service; undefined before it knows enough. */
export function networkOf({ network: memory, profile }: LevelModels): NetworkOfService | undefined {
  if (memory === undefined || memory.windows < LEAST_WINDOWS) return undefined;
  const state = networkState(memory, SHIPPED_NAME, profile);
  const network = shippedNetwork();
  return state !== undefined && network.isReady(state) ? { network, state } : undefined;
}

/** The network where its record of changes gives it a say; undefined elsewhere. */
export const heardNetworkOf = (model: LevelModels): NetworkOfService | undefined =>
  networkShare(model.level) > 0 ? networkOf(model) : undefined;

/** What network and level are after a window. @param profile after it */
export function levelsAfter(
  { network: memory, ...model }: LevelModels,
  window: NetworkWindow,
  profile: ProfileState,
  {
    hasNetwork,
    percentile,
  }: { readonly hasNetwork: boolean; readonly percentile: LevelMemory["percentile"] },
): Pick<ServiceModelMemory, "level" | "network"> {
  const known = hasNetwork ? { ...model, network: memory } : model;
  const network = hasNetwork ? networkWith(known, window, profile) : undefined;
  const level = levelWith(known, window, percentile);
  return { ...(network && { network }), ...(level && { level }) };
}

function levelWith(
  model: LevelModels,
  { observation }: NetworkWindow,
  percentile: LevelMemory["percentile"],
): LevelMemory | undefined {
  const { cpuCores, loadPerContainer } = observation;
  const seconds = measuredAt(observation, percentile);
  if (seconds === undefined || !isPositive(loadPerContainer)) return model.level;
  const load = logLoad(loadPerContainer);
  const network = networkOf(model);
  const ask = (place: Place): ModelLogs | undefined =>
    isCalibrated(model.profile) ? askModels(model.profile, network, place, percentile) : undefined;
  const models = ask({ cpuCores, loadPerContainer });
  const { level } = model;
  // Requests that take more CPU than self time work where spans do not look: these say nothing of what changes come to.
  const { cpuSecondsPerRequest = 0 } = demandOf(model.profile) ?? {};
  const isBlind = (observation.meanSeconds ?? 0) < cpuSecondsPerRequest;
  const unlike =
    models && network && !isBlind && level?.percentile === percentile
      ? mostUnlike(level, { cpuCores, load })
      : undefined;
  const before = unlike && ask({ cpuCores: unlike.cpuCores, loadPerContainer: Math.exp(unlike.load) });
  const earlier = unlike && before ? { ...unlike, models: before } : undefined;
  return levelAfter(level, { percentile, cpuCores, load, time: Math.log(seconds), models, earlier, isBlind });
}

/** Undefined where too few calls say it. */
function measuredAt(
  { calls = 0, p50Seconds, p95Seconds, p99Seconds }: ProfileObservation,
  percentile: LevelMemory["percentile"],
): number | undefined {
  const statistic = STATISTICS[percentile];
  const seconds = [p50Seconds, p95Seconds, p99Seconds][statistic - P50];
  return calls >= LEAST_CALLS[statistic] && isPositive(seconds) ? seconds : undefined;
}

function networkWith(
  { network: memory, profile: profileBefore }: LevelModels,
  window: NetworkWindow,
  profile: ProfileState,
): ServiceModelMemory["network"] {
  const network = shippedNetwork();
  const kept = memory && networkState(memory, SHIPPED_NAME, profileBefore);
  const state = network.after(kept ?? { ...network.empty(), profile: profileBefore }, window, profile);
  const windows = kept === undefined ? 1 : (memory?.windows ?? 0) + 1;
  const isFinite = [...state.anchors, ...state.sums, ...state.inputs].every((each) => Number.isFinite(each));
  return isFinite ? networkMemory(SHIPPED_NAME, windows, state) : memory;
}

/** How well each service was known over its last windows; those of which none was expected are left out. */
export const accuraciesOf = (
  services: readonly Pick<ServiceModelMemory, "level" | "service">[],
): ReadonlyMap<string, LevelAccuracy> =>
  new Map(
    services.flatMap(({ level, service }): [string, LevelAccuracy][] => {
      const accuracy = accuracyOf(level);
      return accuracy === undefined ? [] : [[service, accuracy]];
    }),
  );
