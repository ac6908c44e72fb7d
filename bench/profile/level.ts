import { mean, median, quantile } from "@tradewind/core/values/statistics.ts";
import { LevelMixture } from "@tradewind/predictor/models/level/level-mixture.ts";
import { askRules, LOOKED_BACK, RULES } from "@tradewind/predictor/models/level/rules.ts";
import type { LevelPoint } from "@tradewind/predictor/models/level/rules.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import type { LatencyNetwork, NetworkState } from "@tradewind/predictor/models/network/latency-network.ts";
import { MEDIAN } from "@tradewind/predictor/models/network/shape.ts";
import { logLoad } from "@tradewind/predictor/models/network/window-inputs.ts";
import type { Recorded, Recording } from "./recordings.ts";

/** Windows ahead. */
export const AHEAD = [1, 5, 20] as const;
/** Windows of a service before its forecasts are judged. */
const WARM_UP = 24;
const EXPERTS = [...RULES, "curve", "network"] as const;
type Expert = (typeof EXPERTS)[number];
const BUSY = 0.85;
const CAPACITY_SHARE = 0.99;

/** One forecast that was judged: ln p95 as it came, by each expert, and by their mixture. */
interface Judged {
  readonly actual: number;
  readonly by: Readonly<Record<Expert, number>>;
  readonly ours: number;
  readonly low: number;
  readonly high: number;
  readonly isKnee: boolean;
  readonly isBusy: boolean;
}

const answer = emptyNetworkAnswer();
const [LOW, HIGH] = [1, 5];

interface Forecast {
  readonly experts: readonly number[];
  readonly ours: number;
  readonly low: number;
  readonly high: number;
}

/** What all say of a later window of which load, size and surroundings are known. */
function forecast(
  network: LatencyNetwork,
  state: NetworkState,
  points: readonly LevelPoint[],
  { window: { observation, surroundings } }: Recorded,
  mixture: LevelMixture,
): Forecast {
  const { cpuCores, loadPerContainer = 0 } = observation;
  network.at(state, { cpuCores, loadPerContainer, interference: surroundings.interference }, answer);
  const rules = askRules(points, logLoad(loadPerContainer));
  const said = [...RULES.map((rule) => rules[rule]), answer.curveLog, answer.logs[MEDIAN] ?? Number.NaN];
  const experts = said.map((each) => (Number.isFinite(each) ? each : rules.lastValue));
  return { experts, ours: mixture.mix(experts), low: answer.logs[LOW] ?? 0, high: answer.logs[HIGH] ?? 0 };
}

/** Forecasts of one service, so many windows ahead, each by what was known then. */
function follow(network: LatencyNetwork, rows: readonly Recorded[], ahead: number): Judged[] {
  const mixture = new LevelMixture(EXPERTS.length);
  const loads = rows.map(({ window }) => window.observation.loadPerContainer ?? 0);
  const middle = median(loads);
  const calm = median(rows.filter((_, i) => (loads[i] ?? 0) <= middle).map(({ p95Seconds }) => p95Seconds));
  const useOf = ({ window: { observation } }: Recorded): number =>
    observation.cpuUsageCores === undefined ? 0 : observation.cpuUsageCores / (observation.cpuCores ?? most);
  const most = quantile(
    rows.map(({ window }) => window.observation.cpuUsageCores ?? 0),
    CAPACITY_SHARE,
  );
  const pending: (Forecast | undefined)[] = [];
  const points: LevelPoint[] = [];
  const judged: Judged[] = [];
  let state = network.empty();
  for (const [i, row] of rows.entries()) {
    const made = pending[i];
    const actual = Math.log(row.p95Seconds);
    if (made !== undefined) {
      mixture.learn(made.experts, actual);
      if (i >= WARM_UP)
        judged.push({
          actual,
          by: Object.fromEntries(EXPERTS.map((name, at) => [name, made.experts[at]])) as Record<
            Expert,
            number
          >,
          ours: made.ours,
          low: made.low,
          high: made.high,
          isKnee: row.p95Seconds >= 2 * calm,
          isBusy: useOf(row) > BUSY,
        });
    }
    state = network.after(state, row.window);
    points.push({ load: logLoad(loads[i] ?? 0), time: actual });
    if (points.length > LOOKED_BACK) points.shift();
    const later = rows[i + ahead];
    if (later !== undefined && network.isReady(state))
      pending[i + ahead] = forecast(network, state, points, later, mixture);
  }
  return judged;
}

const rounded = (value: number): number => Math.round(1e3 * value) / 1e3;

/** Mean |ln error| of all. */
function errorsOf(judged: readonly Judged[]): Record<string, unknown> {
  const of = (said: (each: Judged) => number): number =>
    rounded(
      mean(
        judged.map((each) => Math.abs(each.actual - said(each))),
        0,
      ),
    );
  const by = (name: Expert): number => of(({ by: all }) => all[name]);
  const rules = Object.fromEntries(RULES.map((name) => [name, by(name)]));
  return { ours: of(({ ours }) => ours), rules, network: by("network"), curve: by("curve") };
}

/** The next windows of one recording, by the mixture and by each that is in it. */
export function measureLevels(network: LatencyNetwork, { name, rows }: Recording): Record<string, unknown>[] {
  const usable = rows.filter(({ p95Seconds }) => p95Seconds > 0);
  const services = [...Map.groupBy(usable, ({ service }) => service).values()];
  return AHEAD.map((ahead) => {
    const judged = services.flatMap((each) => follow(network, each, ahead));
    const inside = (among: readonly Judged[]): number =>
      rounded(
        mean(
          among.map(({ actual, high, low }) => Number(actual >= low && actual <= high)),
          0,
        ),
      );
    const knee = judged.filter(({ isKnee }) => isKnee);
    const coverage = {
      all: inside(judged),
      knee: inside(knee),
      busy: inside(judged.filter(({ isBusy }) => isBusy)),
    };
    const counts = { set: name, ahead, rows: judged.length, kneeRows: knee.length };
    return Object.assign(counts, errorsOf(judged), { knee: errorsOf(knee), coverage });
  });
}
