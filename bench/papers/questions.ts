import { estimate } from "@tradewind/core/values/estimate.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";
import { CALL_GRAPH_PLANT, GRAD_SETTINGS, gradPlantName } from "@tradewind/simulator/course/papers/grad.ts";
import {
  CAPACITY,
  OBJECTIVES_PLANT,
  QUEUEFLOWER_FIGURE_PLANTS,
  REGION_LOADS,
  regionPlantName,
  SINGLE_OBJECTIVES_MS,
} from "@tradewind/simulator/course/papers/queueflower.ts";
import { OBJECTIVE_SHARE } from "../course/summary.ts";
import type { DetailedRun, Entrant, Question } from "./paper.ts";

/** Grad's cluster has 50 MB for a tenth of a core: one unit each. */
export const units = ({ result }: Pick<DetailedRun, "result">): number =>
  10 * result.cores + 20 * result.gigabytes;

/** A figure of each seed: over all runs with it. */
export const bySeed = (
  runs: readonly DetailedRun[],
  of: (sameSeed: readonly DetailedRun[]) => number,
): Estimate => estimate([...Map.groupBy(runs, ({ seed }) => seed).values()].map(of));

const sumOf = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0);

/** How much more of something runs took than others with the same plants and seeds: geometric mean over plants, less 1. */
export function excess(
  runs: readonly DetailedRun[],
  others: readonly DetailedRun[],
  of: (run: DetailedRun) => number,
): Estimate {
  const logOf = (run: DetailedRun): number => {
    const other = others.find(({ plant, seed }) => plant === run.plant && seed === run.seed);
    return other === undefined ? Number.NaN : Math.log(of(run) / of(other));
  };
  return bySeed(runs, (sameSeed) => Math.expm1(sumOf(sameSeed, logOf) / sameSeed.length));
}

const changes = ({ details }: DetailedRun): number => Math.max(1, details.changes);
const memoryShare = (runs: readonly DetailedRun[]): number =>
  sumOf(runs, ({ result }) => 20 * result.gigabytes) / sumOf(runs, units);
const missedShare = (runs: readonly DetailedRun[]): number =>
  sumOf(runs, ({ details }) => sumOf(details.missedWindows, (length) => length)) /
  sumOf(runs, ({ details }) => details.windows);

const CURED_WINDOWS = 3;
/** Share of the rows of missed windows that last for no more than three; 1 without any. */
export function curedShare(runs: readonly Pick<DetailedRun, "details">[]): number {
  const rows = runs.flatMap(({ details }) => details.missedWindows);
  return rows.length === 0 ? 1 : rows.filter((length) => length <= CURED_WINDOWS).length / rows.length;
}
const revertedShare = (runs: readonly DetailedRun[]): number =>
  sumOf(runs, ({ details }) => details.reverted) / sumOf(runs, changes);

const percent = ({ mean }: Estimate, digits = 0): string => `${(100 * mean).toFixed(digits)} %`;

const signed = (share: Estimate, digits = 0): string =>
  `${share.mean < 0 ? "−" : "+"}${percent({ ...share, mean: Math.abs(share.mean) }, digits)}`;

const OURS: Entrant = { policy: "tradewind-auto", label: "ours" };
/** Hotel reservation in all six settings of table I. */
const settings = GRAD_SETTINGS.map((setting) => gradPlantName("hotel-reservation", setting));
const STEP_MULTIPLES = [0.5, 1, 4];
const CPU_WEIGHT = 5;
/** A smaller share is no difference. */
const CLEAR = 0.02;
const otherSteps = (stepMultiple: number, cpuPriceMultiple = 1): Entrant => ({
  policy: "tradewind-auto-other-steps",
  label: `step ${stepMultiple}, weight ${cpuPriceMultiple}`,
  parameters: { stepMultiple, cpuPriceMultiple },
});
const usualSteps = otherSteps(1);
const dearCpu = otherSteps(1, CPU_WEIGHT);
const stepPlants = ["hotel-reservation", "social-network"].map((name) => gradPlantName(name, "high-load"));

export const GRAD_QUESTIONS: readonly Question[] = [
  {
    figure: "Fig. 12",
    asks: "What does trade among services save?",
    published: "Firm* takes 53 % more units than Grad, and 35 % less than Firm",
    plants: settings,
    arms: [OURS, { policy: "firm-like", label: "firm" }, { policy: "firm-star", label: "firm*" }],
    findings: {
      asPublished:
        "Trade among services saves, and the steepest service is a better choice than the culprit.",
      otherwise: "Not both come out: that trade saves, and that the steepest service beats the culprit.",
    },
    answer: (of) => {
      const toOurs = excess(of("firm*"), of("ours"), units);
      const toFirm = excess(of("firm*"), of("firm"), units);
      const over = bySeed(of("firm*"), missedShare);
      return {
        figures: { firmStarToOurs: toOurs, firmStarToFirm: toFirm, firmStarMissed: over },
        simulated: `units of Firm*: ${signed(toOurs)} to ours, ${signed(toFirm)} to Firm-like`,
        isAsPublished: toOurs.mean > CLEAR && toFirm.mean < -CLEAR,
      };
    },
  },
  {
    figure: "Fig. 13a",
    asks: "What do larger steps of CPU do?",
    published: "fewer iterations, more resources",
    plants: stepPlants,
    arms: STEP_MULTIPLES.map((multiple) => otherSteps(multiple)),
    findings: {
      asPublished: "Larger steps mean fewer changes and more resources.",
      otherwise: "Larger steps do not trade changes for resources here.",
    },
    answer: (of) => {
      const usual = of(usualSteps.label);
      const against = STEP_MULTIPLES.map((multiple) => ({
        multiple,
        changed: excess(of(otherSteps(multiple).label), usual, changes),
        taken: excess(of(otherSteps(multiple).label), usual, units),
      }));
      const largest = against.at(-1);
      return {
        figures: Object.fromEntries(
          against.flatMap(({ changed, multiple, taken }) => [
            [`changes at ${multiple}`, changed],
            [`units at ${multiple}`, taken],
          ]),
        ),
        simulated: against
          .filter(({ multiple }) => multiple !== 1)
          .map(
            ({ changed, multiple, taken }) =>
              `× ${multiple}: changes ${signed(changed)}, units ${signed(taken, 1)}`,
          )
          .join("; "),
        isAsPublished: largest !== undefined && largest.changed.mean < 0 && largest.taken.mean > 0,
      };
    },
  },
  {
    figure: "Fig. 13b",
    asks: "What does CPU do that weighs five times as much?",
    published: "the share of memory rises by 8 %",
    plants: stepPlants,
    arms: [usualSteps, dearCpu],
    findings: {
      asPublished: "Dear CPU moves the share to memory, which follows use here and is not traded.",
      otherwise: "The share of memory hardly rises: memory follows use here and is not traded.",
    },
    answer: (of) => {
      const usual = bySeed(of(usualSteps.label), memoryShare);
      const dear = bySeed(of(dearCpu.label), memoryShare);
      const missed = bySeed(of(dearCpu.label), missedShare);
      return {
        figures: { memoryShare: usual, memoryShareDearCpu: dear, missedDearCpu: missed },
        simulated: `memory is ${percent(usual, 1)} of the units, ${percent(dear, 1)} with dear CPU`,
        isAsPublished: dear.mean > (1 + CLEAR) * usual.mean,
      };
    },
  },
  {
    figure: "Fig. 14a",
    asks: "How often is the objective missed?",
    published: "below 4.7 % of the time; Erms 6.1 %",
    plants: settings,
    arms: [OURS, { policy: "erms-like", label: "erms" }],
    findings: {
      asPublished: "Ours misses less than the paper's bound and than its rival.",
      otherwise: "Ours misses more than the paper's bound, or more than its rival.",
    },
    answer: (of) => {
      const [own, rival] = [bySeed(of("ours"), missedShare), bySeed(of("erms"), missedShare)];
      return {
        figures: { missed: own, ermsMissed: rival },
        simulated: `ours misses in ${percent(own, 1)} of the windows, Erms-like in ${percent(rival, 1)}`,
        isAsPublished: own.mean < 0.047 && own.mean < rival.mean,
      };
    },
  },
  {
    figure: "Fig. 14b",
    asks: "How many misses are cured within three windows, and how many changes are reverted?",
    published: "over 70 % are cured; adjustments are typically unnecessary",
    plants: settings,
    arms: [OURS],
    findings: {
      asPublished: "Most misses are short, and few changes are reverted.",
      otherwise: "Misses last longer, or more changes are reverted, than the paper says.",
    },
    answer: (of) => {
      const [cured, back] = [bySeed(of("ours"), curedShare), bySeed(of("ours"), revertedShare)];
      return {
        figures: { cured, reverted: back },
        simulated: `${percent(cured)} are cured; ${percent(back, 1)} of the changes are reverted`,
        isAsPublished: cured.mean > 0.7 && back.mean < 0.05,
      };
    },
  },
  {
    figure: "Fig. 15",
    asks: "Does it hold for 2,500 services through a surge, in bounded time?",
    published: "up to 42 % less than Erms, 53 % less than Firm; 300 ms a plan",
    plants: [CALL_GRAPH_PLANT.name],
    arms: [
      OURS,
      { policy: "erms-like", label: "erms" },
      { policy: "firm-like", label: "firm" },
      { policy: "hpa-cpu", label: "hpa" },
    ],
    seeds: 1,
    findings: {
      asPublished: "It holds, at less than all rivals.",
      otherwise: "It holds less well, or takes more, than the paper says.",
    },
    answer: (of) => {
      const [toErms, toFirm, toHpa] = ["erms", "firm", "hpa"].map((label) =>
        excess(of("ours"), of(label), units),
      ) as [Estimate, Estimate, Estimate];
      const over = bySeed(
        of("ours"),
        (runs) => sumOf(runs, ({ result }) => result.requestsOver) / runs.length,
      );
      const windows = CALL_GRAPH_PLANT.model.seconds / 15;
      const perWindow = bySeed(
        of("ours"),
        (runs) =>
          (sumOf(runs, ({ cpuSeconds }) => cpuSeconds) - sumOf(of("hpa"), (run) => run.cpuSeconds)) / windows,
      );
      return {
        figures: { toErms, toFirm, toHpa, requestsOver: over, moreCpuSecondsPerWindow: perWindow },
        simulated:
          `units ${signed(toErms)} to Erms-like, ${signed(toFirm)} to Firm-like, ${signed(toHpa)} to the HPA; ` +
          `${percent(over, 1)} of requests over; ${perWindow.mean.toFixed(1)} s of CPU a window`,
        isAsPublished: toErms.mean < 0 && toFirm.mean < 0 && over.mean <= 0.05,
      };
    },
  },
];

/** Share of what comes that a policy must serve in the last fifth for its queues not to grow. */
const SERVED_SHARE = 0.98;
const REGION_ARMS: readonly Entrant[] = [
  { policy: "queueflower", label: "queueflower", parameters: { budgetMultiple: 1, weights: "published" } },
  { policy: "hab-like", label: "hab", parameters: { budgetMultiple: 1 } },
  { policy: "tradewind-queue", label: "queue" },
  { policy: "tradewind-auto", label: "auto" },
];

/** Requests served in the last fifth of a run over those that come. */
const servedOf = (load: number, runs: readonly DetailedRun[]): Estimate =>
  bySeed(
    runs.filter(({ plant }) => plant === regionPlantName(load)),
    (same) =>
      sumOf(same, ({ details }) => details.servedPerSecond.at(-1) ?? 0) / same.length / (load * CAPACITY),
  );

/** The greatest of the loads up to which all that comes is served; 0 where that is none. */
export function carriedLoad(served: readonly (readonly [load: number, served: number])[]): number {
  let carried = 0;
  for (const [load, share] of served) {
    if (share < SERVED_SHARE) return carried;
    carried = load;
  }
  return carried;
}

/** Prices within this of each other are about the same. */
const ABOUT = 0.05;
const told = (milliseconds: number, label: string): Entrant => ({
  policy: "tradewind-auto-told",
  label,
  parameters: { milliseconds },
});
const EACH_OBJECTIVE = told(0, "each");
const SINGLE_OBJECTIVES = SINGLE_OBJECTIVES_MS.map((milliseconds) =>
  told(milliseconds, `${milliseconds} ms`),
);

/** Share over its objective of the route that stands worst, mean of the runs. */
const worstRoute = (runs: readonly Pick<DetailedRun, "details">[]): number => {
  const routes = runs.map(({ details }) => Object.values(details.routes).map((route) => route.requestsOver));
  return sumOf(routes, (shares) => Math.max(...shares)) / runs.length;
};

/** The cheapest of those that keep each route's objective, a p95; undefined where none does. */
export function cheapestKept(arms: readonly (readonly DetailedRun[])[]): readonly DetailedRun[] | undefined {
  const costOf = (runs: readonly DetailedRun[]): number =>
    sumOf(runs, ({ result }) => result.costPerHour) / runs.length;
  return arms.filter((runs) => worstRoute(runs) <= OBJECTIVE_SHARE).sort((a, b) => costOf(a) - costOf(b))[0];
}

export const QUEUEFLOWER_QUESTIONS: readonly Question[] = [
  {
    figure: "Fig. 6",
    asks: "What does it cost to keep four objectives, against the best single one that keeps all?",
    published: "four objectives are kept",
    plants: [OBJECTIVES_PLANT.name],
    arms: [EACH_OBJECTIVE, ...SINGLE_OBJECTIVES],
    findings: {
      asPublished: "Told of all four, ours keeps them at about the price of the best single one.",
      otherwise: "Told of all four, ours does not keep them at about the price of the best single one.",
    },
    answer: (of) => {
      const toldRuns = of(EACH_OBJECTIVE.label);
      const best = cheapestKept(SINGLE_OBJECTIVES.map(({ label }) => of(label)));
      const over = bySeed(toldRuns, worstRoute);
      const toBest = excess(toldRuns, best ?? [], ({ result }) => result.costPerHour);
      return {
        figures: { worstRouteOver: over, costToBestSingle: toBest },
        simulated: `worst route ${percent(over, 1)} over, cost ${signed(toBest, 1)} to the best single one`,
        isAsPublished: over.mean <= OBJECTIVE_SHARE && toBest.mean <= ABOUT,
      };
    },
  },
  {
    figure: "IV",
    asks: "Up to which share of the greatest load that 24 pods carry does no queue grow without end?",
    published: "all of it: throughput optimal",
    plants: REGION_LOADS.map(regionPlantName),
    arms: REGION_ARMS,
    findings: {
      asPublished: "No queue grows without end inside of the region.",
      otherwise: "Queues grow inside of the region: shares move pods, which take 45 to 60 s to start.",
    },
    answer: (of) => {
      const served = REGION_ARMS.map(({ label }) => ({
        label,
        loads: REGION_LOADS.map((load) => [load, servedOf(load, of(label))] as const),
      }));
      const carried = served.map(({ label, loads }) => ({
        label,
        share: carriedLoad(loads.map(([load, { mean }]) => [load, mean])),
      }));
      return {
        figures: Object.fromEntries(
          served.flatMap(({ label, loads }) =>
            loads.map(([load, share]) => [`${label} at ${load}`, share] as const),
          ),
        ),
        simulated: carried.map(({ label, share }) => `${label} ${Math.round(100 * share)} %`).join(", "),
        isAsPublished: carried[0]?.share === REGION_LOADS.at(-1),
      };
    },
  },
  ...QUEUEFLOWER_FIGURE_PLANTS.map(({ name }, index): Question => {
    const [figure, load, gain] = index === 0 ? ["Fig. 6", "steady", 1.17] : ["Fig. 9", "changing", 16.16];
    return {
      figure,
      asks: `How much less than its rival HAB does it miss under a ${load} load?`,
      published: `${gain} points less`,
      plants: [name],
      arms: REGION_ARMS,
      findings: {
        asPublished: "It misses less than HAB.",
        otherwise: "It misses more than HAB.",
      },
      answer: (of) => {
        const over = REGION_ARMS.map(({ label }) => ({
          label,
          share: bySeed(of(label), ([run]) => run?.result.requestsOver ?? Number.NaN),
        }));
        const [own, rival] = over;
        return {
          figures: Object.fromEntries(over.map(({ label, share }) => [label, share])),
          simulated: `over: ${over.map(({ label, share }) => `${label} ${percent(share, 1)}`).join(", ")}`,
          isAsPublished: own !== undefined && rival !== undefined && own.share.mean < rival.share.mean,
        };
      },
    };
  }),
];
