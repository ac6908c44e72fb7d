import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { mean, quantile } from "@tradewind/core/values/statistics.ts";
import type { Played, Setting } from "./stage.ts";
import type { Truth } from "./traffic.ts";

/** What of the plan is wrong, in words, and whether it says that something is missing. */
export interface Verdict {
  readonly wrong: readonly string[];
  readonly isSaid: boolean;
}

/** What is said may be off by so much. */
const TOLERATED_RATIO = 0.03;
/** Windows at the start in which the predictor learns how its senders send. */
const LEARNING_WINDOWS = 3;

/** Compares what was said of rates, calls and 95th percentiles with what is true, over all windows but the first ones. */
export function judge(
  { plans, sets }: Played,
  { entry, services }: Pick<Setting, "entry" | "services">,
  truth: Truth,
): Verdict {
  const judged = sets.slice(LEARNING_WINDOWS);
  const wrong: string[] = [];
  const compare = (what: string, said: number | undefined, right: number): void => {
    if (said === undefined || !(Math.abs(said - right) <= TOLERATED_RATIO * right + 1e-9))
      wrong.push(`${what}: ${said?.toFixed(4) ?? "nothing"}, right is ${right.toFixed(4)}`);
  };
  for (const service of services) {
    const windows = judged.map((set) => set.windows.find((window) => window.service === service));
    const rate = mean(windows.map((window) => window?.requestsPerSecond ?? 0));
    const tails = windows.flatMap((window) => window?.responseLatency?.p95Seconds ?? []);
    compare(`${service} requests/s`, rate, rateOf(judged, truth.requests.get(service)));
    const tail = tailOf(judged, truth.requests.get(service));
    if (tail !== undefined) compare(`${service} p95 s`, tails.length > 0 ? mean(tails) : undefined, tail);
    const callees = new Set(windows.flatMap((window) => window?.callees.map(({ callee }) => callee) ?? []));
    const right = [...truth.calls.keys()]
      .map((key) => key.split(" "))
      .filter(([caller]) => caller === service);
    for (const [, callee = ""] of right) callees.add(callee);
    for (const callee of callees) {
      const calls = windows.map(
        (window) => window?.callees.find((edge) => edge.callee === callee)?.callsPerSecond ?? 0,
      );
      compare(
        `${service} to ${callee} calls/s`,
        mean(calls),
        rateOf(judged, truth.calls.get(`${service} ${callee}`)),
      );
    }
  }
  const flows = judged.map((set) => set.flows.filter(({ entryService }) => entryService === entry));
  const users = [...truth.users.values()];
  const saidRate = mean(flows.map((own) => own.reduce((sum, flow) => sum + flow.requestsPerSecond, 0)));
  compare("users' requests/s", saidRate, rateOf(judged, users.flat()));
  const slowest = judged.map((set) => Math.max(...users.map((events) => tailOf([set], events) ?? 0)));
  const measured = plans.slice(LEARNING_WINDOWS).map((plan) => plan.measuredLatencySeconds);
  if (users.length > 0)
    compare("users' p95 s", mean(measured.map((each) => each ?? Number.NaN)), mean(slowest));
  return { wrong, isSaid: plans.slice(LEARNING_WINDOWS).some(({ complete }) => !complete) };
}

type Events = readonly { readonly endMs: number; readonly ms: number }[];

const within = (set: WindowSet, events: Events): Events =>
  events.filter(({ endMs }) => endMs >= set.startMs && endMs < set.endMs);

function rateOf(sets: readonly WindowSet[], events: Events = []): number {
  return mean(sets.map((set) => (1e3 * within(set, events).length) / (set.endMs - set.startMs)));
}

/** Mean of the windows' 95th percentiles, s; undefined without any event. */
function tailOf(sets: readonly WindowSet[], events: Events = []): number | undefined {
  const tails = sets.flatMap((set) => {
    const own = within(set, events);
    return own.length === 0
      ? []
      : [
          quantile(
            own.map(({ ms }) => ms / 1e3),
            0.95,
          ),
        ];
  });
  return tails.length === 0 ? undefined : mean(tails);
}
