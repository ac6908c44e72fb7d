import { mean } from "@tradewind/core/values/statistics.ts";
import { readFileSync, writeFileSync } from "node:fs";
import type { Actuators } from "@tradewind/simulator/contenders/contender.ts";
import type { PlantReport } from "./report.ts";
import { OBJECTIVE_SHARE } from "./summary.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";

const marks = (actuators: Actuators): readonly [string, string] => [
  `<!-- course ${actuators}: begin -->`,
  `<!-- course ${actuators}: end -->`,
];

/** Mean with half of its interval. */
export function withInterval({ high, low, mean }: Estimate, scale: number, digits: number): string {
  const text = (scale * mean).toFixed(digits);
  return Number.isFinite(high) ? `${text} ± ${((scale * (high - low)) / 2).toFixed(digits)}` : text;
}

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
  const ratio = Math.exp(mean(logs));
  const worst = pairs.reduce((most, { own }) => Math.max(most, own.requestsOver.mean), 0);
  const over = mean(pairs.map(({ own }) => own.requestsOver.mean));
  const usual = pairs.map(
    ({ own, usual: its }) => own.costPerHour.mean / (its?.costPerHour.mean ?? Number.NaN),
  );
  const toUsual = mean(usual);
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

/** How each policy did over all plants, as Markdown. */
export function summary(plants: readonly PlantReport[], seeds: readonly number[]): string {
  const names = [...new Set(plants.flatMap(({ policies }) => policies.map(({ name }) => name)))];
  return [
    seeds.length === 1
      ? `Simulated, one seed (${seeds[0]}).`
      : `Simulated, ${seeds.length} seeds (${seeds[0]} to ${seeds.at(-1)}), means.`,
    "",
    "| policy | plants with at most 5 % over | % over, mean | worst plant | cost to hpa-cpu's, mean | cost to clairvoyant's, geometric mean | on the front |",
    "| --- | --: | --: | --: | --: | --: | --: |",
    ...names.map((name) => summaryRow(name, plants)),
    "",
  ].join("\n");
}

/** Puts a text between two marks of a document, in place of what is there. @throws Error when it has no such marks */
export function writeBetween(path: string, [begin, end]: readonly [string, string], content: string): void {
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no '${begin}' followed by '${end}'`);
  writeFileSync(path, `${text.slice(0, from)}${begin}\n\n${content}\n${text.slice(to)}`);
}

/** Four digits say all that a few seeds can. */
const rounded = (_key: string, value: unknown): unknown =>
  typeof value === "number" ? Number(value.toPrecision(4)) : value;

function figuresOf(plants: readonly PlantReport[], seeds: readonly number[]): string {
  const lines = plants.map(({ name, policies }) => {
    const rows = policies.map(
      ({ differenceTo: _differenceTo, parameters: _parameters, seeds: _seeds, ...figures }) =>
        JSON.stringify(figures, rounded),
    );
    return `{"name": ${JSON.stringify(name)}, "policies": [\n${rows.join(",\n")}\n]}`;
  });
  return `{"seeds": ${JSON.stringify(seeds)}, "plants": [\n${lines.join(",\n")}\n]}`;
}

/**
 * Puts the summary in the place that the document has for it, and the figures of each plant into a JSON file beside the document.
 * @throws Error when the document has no such place
 */
export function writeCourse(
  path: string,
  plants: readonly PlantReport[],
  seeds: readonly number[],
  actuators: Actuators,
): void {
  writeBetween(path, marks(actuators), summary(plants, seeds));
  writeFileSync(path.replace(/(?:\.md)?$/, `-${actuators}.json`), `${figuresOf(plants, seeds)}\n`);
}
