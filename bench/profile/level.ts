import { median, quantile } from "@tradewind/core/values/statistics.ts";
import { emptyMixture, mixed, mixtureAfter } from "@tradewind/predictor/models/level/level-mixture.ts";
import { LOOKED_BACK, RULES } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LevelPoint } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import { logLoad } from "@tradewind/predictor/models/network/window-inputs.ts";
import { insideShare, meanError } from "./errors.ts";
import { askExperts, EXPERT_COUNT, inOrder } from "./experts.ts";
import type { Expert, ExpertAnswers } from "./experts.ts";
import type { Recorded, Recording } from "./recordings.ts";

/** Windows ahead. */
export const AHEAD = [1, 5, 20] as const;
/** Windows of a service before its forecasts are judged. */
const WARM_UP = 24;
const BUSY = 0.85;
const CAPACITY_SHARE = 0.99;

/** What all say of a later window, and what their mixture says: ln p95. */
interface LevelForecast extends ExpertAnswers {
  readonly ours: number;
}

/** A forecast beside the ln p95 that came. */
interface JudgedForecast extends LevelForecast {
  readonly truth: number;
  readonly isKnee: boolean;
  readonly isBusy: boolean;
}

/** Forecasts of one service, each from the windows up to `ahead` windows before. */
function follow(network: LatencyNetwork, rows: readonly Recorded[], ahead: number): JudgedForecast[] {
  let mixture = emptyMixture(EXPERT_COUNT);
  const loads = rows.map(({ window }) => window.observation.loadPerContainer ?? 0);
  const middle = median(loads);
  const calm = median(rows.filter((_, i) => (loads[i] ?? 0) <= middle).map(({ p95Seconds }) => p95Seconds));
  const useOf = ({ window: { observation } }: Recorded): number =>
    observation.cpuUsageCores === undefined ? 0 : observation.cpuUsageCores / (observation.cpuCores ?? most);
  const most = quantile(
    rows.map(({ window }) => window.observation.cpuUsageCores ?? 0),
    CAPACITY_SHARE,
  );
  const pending: (LevelForecast | undefined)[] = [];
  const points: LevelPoint[] = [];
  const judged: JudgedForecast[] = [];
  let state = network.empty();
  for (const [i, row] of rows.entries()) {
    const forecast = pending[i];
    const truth = Math.log(row.p95Seconds);
    if (forecast !== undefined) {
      mixture = mixtureAfter(mixture, inOrder(forecast), truth);
      const isKnee = row.p95Seconds >= 2 * calm;
      if (i >= WARM_UP) judged.push({ ...forecast, truth, isKnee, isBusy: useOf(row) > BUSY });
    }
    state = network.after(state, row.window);
    points.push({ load: logLoad(loads[i] ?? 0), time: truth });
    if (points.length > LOOKED_BACK) points.shift();
    const later = rows[i + ahead];
    if (later === undefined || !network.isReady(state)) continue;
    const { observation, surroundings } = later.window;
    const { cpuCores, loadPerContainer = 0 } = observation;
    const question = { cpuCores, loadPerContainer, interference: surroundings.interference };
    const answers = askExperts(network, { state, points }, question);
    pending[i + ahead] = { ...answers, ours: mixed(mixture, inOrder(answers)) };
  }
  return judged;
}

/** Mean |ln error| of all. */
function errorsOf(judged: readonly JudgedForecast[]): Record<string, unknown> {
  const by = (expert: Expert): number => meanError(judged, (forecast) => forecast.by[expert]);
  const rules = Object.fromEntries(RULES.map((rule) => [rule, by(rule)]));
  return { ours: meanError(judged, ({ ours }) => ours), rules, network: by("network"), curve: by("curve") };
}

/** The next windows of one recording, by the mixture and by each that is in it. */
export function measureLevels(network: LatencyNetwork, { name, rows }: Recording): Record<string, unknown>[] {
  const usable = rows.filter(({ p95Seconds }) => p95Seconds > 0);
  const services = [...Map.groupBy(usable, ({ service }) => service).values()];
  return AHEAD.map((ahead) => {
    const judged = services.flatMap((each) => follow(network, each, ahead));
    const knee = judged.filter(({ isKnee }) => isKnee);
    const coverage = {
      all: insideShare(judged),
      knee: insideShare(knee),
      busy: insideShare(judged.filter(({ isBusy }) => isBusy)),
    };
    const counts = { set: name, ahead, rows: judged.length, kneeRows: knee.length };
    return Object.assign(counts, errorsOf(judged), { knee: errorsOf(knee), coverage });
  });
}
