import type { Actuators, Parameters } from "@tradewind/simulator/contenders/contender.ts";
import { withInterval } from "../course/document.ts";
import type { RunDetails } from "../course/details.ts";
import type { Run } from "../course/report.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";

/** One of the paper's systems, as the simulator has it. */
export interface Entrant {
  readonly policy: string;
  /** What it is called in the table, with its counterpart in the paper. */
  readonly label: string;
  /** Default: the policy's own defaults. */
  readonly parameters?: Parameters;
}

/** A figure of every run, and how it is written. */
export interface Column {
  readonly title: string;
  /** Name in the JSON. */
  readonly key: string;
  readonly of: (run: DetailedRun) => number;
  readonly scale: number;
  readonly digits: number;
  /** Runs of these plants alone; default those of the table. */
  readonly plants?: readonly string[];
}

export type DetailedRun = Run & { readonly details: RunDetails };

/** One table: rows are entrants, runs those of one plant, or of several together. */
export interface TableModel {
  readonly title: string;
  readonly plants: readonly string[];
  readonly columns: readonly Column[];
}

/** What came out of a question. */
export interface Answer {
  readonly figures: Readonly<Record<string, Estimate>>;
  /** The figures that count, in words. All of them are simulated. */
  readonly simulated: string;
  readonly isAsPublished: boolean;
}

/** What a paper answers with a figure or two, asked of the simulator. */
export interface Question {
  /** Figure or section of the paper. */
  readonly figure: string;
  readonly asks: string;
  /** What the paper answers. */
  readonly published: string;
  readonly plants: readonly string[];
  /** What is compared on each of the plants. Their labels differ. */
  readonly arms: readonly Entrant[];
  /** Default: as many as the tables of the paper. */
  readonly seeds?: number;
  /** What came out, in a sentence: where it is what the paper says, and where not. */
  readonly findings: { readonly asPublished: string; readonly otherwise: string };
  /** @param of runs of the arm with a label */
  readonly answer: (of: (label: string) => readonly DetailedRun[]) => Answer;
}

/** A question with what came out, as it is reported. */
export interface AnsweredQuestion extends Answer, Pick<Question, "figure" | "asks" | "published"> {
  readonly seeds: number;
  readonly finding: string;
}

/** @param of runs of the arm with a label */
export function answered(
  { answer, arms, asks, figure, findings, published }: Question,
  of: (label: string) => readonly DetailedRun[],
): AnsweredQuestion {
  const outcome = answer(of);
  const seeds = new Set(arms.flatMap(({ label }) => of(label).map(({ seed }) => seed))).size;
  const finding = outcome.isAsPublished ? findings.asPublished : findings.otherwise;
  return { figure, asks, published, seeds, ...outcome, finding };
}

/** Experiments of one paper that can be restated. */
export interface Paper {
  readonly name: string;
  readonly actuators: Actuators;
  /** Default 2. */
  readonly seeds?: number;
  readonly entrants: readonly Entrant[];
  readonly tables: readonly TableModel[];
  readonly questions?: readonly Question[];
}

export const plantsOf = ({ tables }: Paper): readonly string[] => [
  ...new Set(tables.flatMap(({ plants }) => plants)),
];

/** The figures of one entrant in one table, by key of the column. */
export interface Row {
  readonly policy: string;
  readonly label: string;
  readonly figures: Readonly<Record<string, Estimate>>;
}

/** Means over the plants of the table, seed by seed, and their interval over the seeds. */
export function rowsOf(paper: Paper, table: TableModel, runs: readonly DetailedRun[]): Row[] {
  return paper.entrants.flatMap(({ label, policy }) => {
    const own = runs.filter((run) => run.policy === policy && table.plants.includes(run.plant));
    if (own.length === 0) return [];
    const figures = table.columns.map(({ key, of, plants }) => {
      const counted = own.filter(({ plant }) => plants?.includes(plant) !== false);
      const bySeed = [...Map.groupBy(counted, ({ seed }) => seed).values()].map(
        (each) => each.reduce((sum, run) => sum + of(run), 0) / each.length,
      );
      return [key, estimate(bySeed)] as const;
    });
    return [{ policy, label, figures: Object.fromEntries(figures) }];
  });
}

/** The figures of a row by title of the column, with the scale and digits of the column. */
export function textsOf(table: TableModel, { figures, label }: Row): Record<string, string> {
  const cells = table.columns.flatMap(({ digits, key, scale, title }) => {
    const figure = figures[key];
    return figure === undefined ? [] : [[title, withInterval(figure, scale, digits)] as const];
  });
  return { label, ...Object.fromEntries(cells) };
}
