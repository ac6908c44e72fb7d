import type { Contender } from "./application.ts";
import { judgeLatency } from "./outcomes.ts";
import type { Latency, Outcome } from "./outcomes.ts";
import type { Integrals, PodCount } from "./pods.ts";

/** What one run yielded. */
export interface Run extends Integrals {
  readonly outcomes: readonly Outcome[];
  /** By component. */
  readonly pods: Readonly<Record<string, readonly PodCount[]>>;
}

interface Figures extends Latency, Integrals {
  readonly peak: Pick<Latency, "over" | "p95Seconds">;
}

/** An application under a contender: figures over all runs together, and of each. */
export interface Entry extends Figures {
  readonly name: string;
  readonly contender: Contender;
  /** Smallest and largest share of a run. */
  readonly overRange: readonly [number, number];
  readonly runs: readonly (Figures & Pick<Run, "pods">)[];
}

export interface Judged {
  readonly name: string;
  readonly contender: Contender;
  readonly objectiveSeconds: number;
}

function figuresOf(
  outcomes: readonly Outcome[],
  { coreSeconds, podSeconds }: Integrals,
  objectiveSeconds: number,
): Figures {
  const inPeak = outcomes.filter((each) => each.inPeak);
  const { over, p95Seconds } = judgeLatency(inPeak, objectiveSeconds);
  const peak = { over, p95Seconds };
  return { ...judgeLatency(outcomes, objectiveSeconds), podSeconds, coreSeconds, peak };
}

/** Pools runs: every request counts the same, whichever run it was of, and pod-seconds add up. */
export function entryOf({ contender, name, objectiveSeconds }: Judged, runs: readonly Run[]): Entry {
  const single = runs.map((each) => ({
    ...figuresOf(each.outcomes, each, objectiveSeconds),
    pods: each.pods,
  }));
  const outcomes = runs.flatMap((run) => run.outcomes);
  const integrals = {
    podSeconds: runs.reduce((sum, run) => sum + run.podSeconds, 0),
    coreSeconds: runs.reduce((sum, run) => sum + run.coreSeconds, 0),
  };
  const shares = single.map(({ over }) => over);
  return {
    name,
    contender,
    ...figuresOf(outcomes, integrals, objectiveSeconds),
    overRange: [Math.min(...shares), Math.max(...shares)],
    runs: single,
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const millis = (seconds: number): string => `${Math.round(1_000 * seconds)} ms`;
const range = ([least, most]: Entry["overRange"]): string =>
  least === most ? "" : `${(100 * least).toFixed(1)} to ${percent(most)}`;

const HEADER =
  "application, contender, runs, requests, failed, over, of single runs, over in peak, p95, in peak, pod·s, requested core·s";

/** The figures for people, and how many pods there were when. */
export function table(entries: readonly Entry[]): string {
  const rows = entries.map((entry) => [
    entry.name,
    entry.contender,
    String(entry.runs.length),
    String(entry.requests),
    String(entry.failed),
    percent(entry.over),
    range(entry.overRange),
    percent(entry.peak.over),
    millis(entry.p95Seconds),
    millis(entry.peak.p95Seconds),
    String(Math.round(entry.podSeconds)),
    entry.coreSeconds.toFixed(1),
  ]);
  const cells = [HEADER.split(", "), ...rows];
  const widths = HEADER.split(", ").map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [...lines, "", ...entries.flatMap(podLines)].join("\n");
}

function podLines({ contender, name, runs }: Entry): string[] {
  return runs.flatMap(({ pods }, index) => [
    `${name}, ${contender}, run ${index + 1}, pods:`,
    ...Object.entries(pods).map(([component, counts]) => `  ${component} ${timeline(counts)}`),
  ]);
}

/** `1, 3 from 52 s, 4 from 66 s` */
const timeline = (counts: readonly PodCount[]): string =>
  counts
    .map(({ atSeconds, pods }, index) => (index === 0 ? `${pods}` : `${pods} from ${atSeconds} s`))
    .join(", ");
