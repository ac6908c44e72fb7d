import { readFileSync, writeFileSync } from "node:fs";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import type { Actuators } from "@tradewind/simulator/contenders/contender.ts";
import type { PlantReport, PolicyReport } from "./report.ts";
import type { Estimate } from "./statistics.ts";

const marks = (actuators: Actuators): readonly [string, string] => [
  `<!-- course ${actuators}: begin -->`,
  `<!-- course ${actuators}: end -->`,
];

/** Mean with half of its interval. */
export function withInterval({ high, low, mean }: Estimate, scale: number, digits: number): string {
  const text = (scale * mean).toFixed(digits);
  return Number.isFinite(high) ? `${text} ± ${((scale * (high - low)) / 2).toFixed(digits)}` : text;
}

function levelsOf({ levels }: PolicyReport): string {
  if (levels === undefined) return "";
  return Object.entries(levels)
    .toSorted(([, a], [, b]) => b - a)
    .map(([level, share]) => `${level} ${Math.round(100 * share)} %`)
    .join(", ");
}

const HEADER = [
  "policy",
  "requests over, %",
  "minutes over, %",
  "cost, 1/h",
  "cores",
  "GB",
  "starts",
  "stops",
  "failed",
  "levels",
];

function rowOf(policy: PolicyReport): string {
  const cells = [
    `${policy.isOnFront ? "**" : ""}${policy.name}${policy.isOnFront ? "**" : ""}`,
    withInterval(policy.requestsOver, 100, 2),
    withInterval(policy.minutesOver, 100, 1),
    withInterval(policy.costPerHour, 1, 3),
    withInterval(policy.cores, 1, 1),
    withInterval(policy.gigabytes, 1, 1),
    policy.starts.mean.toFixed(1),
    policy.stops.mean.toFixed(1),
    policy.failed.mean.toFixed(0),
    levelsOf(policy),
  ];
  return `| ${cells.join(" | ")} |`;
}

function section({ name, policies }: PlantReport): string {
  const about = COURSE.find((each) => each.name === name)?.about ?? "";
  const sorted = policies.toSorted((a, b) => a.costPerHour.mean - b.costPerHour.mean);
  return [
    `### ${name}`,
    "",
    about,
    "",
    `| ${HEADER.join(" | ")} |`,
    `| ${HEADER.map((_, at) => (at === 0 || at === HEADER.length - 1 ? "---" : "--:")).join(" | ")} |`,
    ...sorted.map(rowOf),
    "",
  ].join("\n");
}

const OBJECTIVE_SHARE = 0.05;
const BOUND = "clairvoyant";
const USUAL = "hpa-cpu";

/** How a policy did over all plants. */
function summaryRow(name: string, plants: readonly PlantReport[]): string {
  const pairs = plants.flatMap(({ policies }) => {
    const own = policies.find((each) => each.name === name);
    const bound = policies.find((each) => each.name === BOUND);
    const usual = policies.find((each) => each.name === USUAL);
    return own === undefined ? [] : [{ own, bound, usual }];
  });
  const met = pairs.filter(({ own }) => own.requestsOver.mean <= OBJECTIVE_SHARE).length;
  const fronts = pairs.filter(({ own }) => own.isOnFront).length;
  const logs = pairs.flatMap(({ bound, own }) =>
    bound === undefined ? [] : [Math.log(own.costPerHour.mean / bound.costPerHour.mean)],
  );
  const ratio = Math.exp(logs.reduce((sum, each) => sum + each, 0) / logs.length);
  const worst = pairs.reduce((most, { own }) => Math.max(most, own.requestsOver.mean), 0);
  const over = pairs.reduce((sum, { own }) => sum + own.requestsOver.mean, 0) / pairs.length;
  const usual = pairs.map(
    ({ own, usual: its }) => own.costPerHour.mean / (its?.costPerHour.mean ?? Number.NaN),
  );
  const toUsual = usual.reduce((sum, each) => sum + each, 0) / usual.length;
  const cells = [
    name,
    `${met} of ${pairs.length}`,
    (100 * over).toFixed(2),
    (100 * worst).toFixed(1),
    Number.isFinite(toUsual) ? toUsual.toFixed(3) : "",
    Number.isFinite(ratio) ? ratio.toFixed(2) : "",
    name === BOUND ? "" : `${fronts}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function summary(plants: readonly PlantReport[]): string {
  const names = [...new Set(plants.flatMap(({ policies }) => policies.map(({ name }) => name)))];
  return [
    "### All plants",
    "",
    "| policy | plants with at most 5 % over | % over, mean | worst plant | cost to hpa-cpu's, mean | cost to clairvoyant's, geometric mean | on the front |",
    "| --- | --: | --: | --: | --: | --: | --: |",
    ...names.map((name) => summaryRow(name, plants)),
    "",
  ].join("\n");
}

/** The tables of all plants as Markdown, cheapest policy first. */
export function tables(plants: readonly PlantReport[], seeds: readonly number[]): string {
  const said = `Simulated, ${seeds.length} seeds (${seeds[0]} to ${seeds.at(-1)}); means with 95 % intervals; **bold**: on the Pareto front of requests over and cost.`;
  return [said, "", summary(plants), ...plants.map(section)].join("\n");
}

/** Puts a text between two marks of a document, in place of what is there. @throws Error when it has no such marks */
export function writeBetween(path: string, [begin, end]: readonly [string, string], content: string): void {
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no '${begin}' followed by '${end}'`);
  writeFileSync(path, `${text.slice(0, from)}${begin}\n\n${content}\n${text.slice(to)}`);
}

/** Puts the tables in the place that the document has for them. @throws Error when it has none */
export function writeCourse(
  path: string,
  plants: readonly PlantReport[],
  seeds: readonly number[],
  actuators: Actuators,
): void {
  writeBetween(path, marks(actuators), tables(plants, seeds));
}
