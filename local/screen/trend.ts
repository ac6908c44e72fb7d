import type { Trend } from "./picture.ts";
import { cut, padRight } from "@tradewind/core/terminal/style.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { toneOf } from "./tone.ts";

const BLOCKS = "▁▂▃▄▅▆▇█";
/** Height of the objective: half of the tallest block, so that a tall one is twice the objective or more. */
const OBJECTIVE_HEIGHT = BLOCKS.length / 2;
const LABEL_WIDTH = 8;

function blockOf(seconds: number, objectiveSeconds: number): string {
  const height = Math.ceil((OBJECTIVE_HEIGHT * seconds) / objectiveSeconds);
  return BLOCKS[Math.min(BLOCKS.length, Math.max(1, height)) - 1] ?? "";
}

/** The highest of each group of steps, so that a narrow terminal hides no peak. */
function grouped(values: readonly (number | undefined)[], size: number): (number | undefined)[] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => {
    const known = values.slice(at * size, (at + 1) * size).filter((each) => each !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  });
}

/** Where each phase begins on an axis of `width` columns. */
function axis({ phases }: Trend, phase: string, width: number, paint: Paint): string {
  return phases
    .map(({ fromShare, name, toShare }) => {
      const columns = Math.round(toShare * width) - Math.round(fromShare * width);
      const text = toShare === 1 ? `│${name}` : padRight(`│${cut(name, columns - 1)}`, columns);
      return paint(name === phase ? "bold" : "dim", text);
    })
    .join("");
}

/**
 * p95 of the whole run as bars against the objective, the rival's beneath it where there is one, and the phases as their time axis.
 * @param columns width of the terminal
 */
export function renderTrend(
  trend: Trend,
  { columns, objectiveSeconds, phase }: { columns: number; objectiveSeconds: number; phase: string },
  paint: Paint,
): string[] {
  const size = columns >= LABEL_WIDTH + trend.steps ? 1 : 2;
  const width = Math.ceil(trend.steps / size);
  const bars = (values: readonly (number | undefined)[], isGhost: boolean): string =>
    grouped(values, size)
      .map((seconds) => {
        if (seconds === undefined) return " ";
        const isOver = seconds > objectiveSeconds;
        return paint(
          isGhost && !isOver ? "dim" : toneOf(seconds, objectiveSeconds),
          blockOf(seconds, objectiveSeconds),
        );
      })
      .join("");
  const label = (text: string): string => padRight(cut(text, LABEL_WIDTH - 1), LABEL_WIDTH);
  return [
    `${label("p95")}${bars(trend.p95Seconds, false)}`,
    ...(trend.rival === undefined
      ? []
      : [`${paint("dim", label(trend.rival.name))}${bars(trend.rival.p95Seconds, true)}`]),
    `${label("")}${axis(trend, phase, width, paint)}`,
    paint(
      "dim",
      `${label("")}▄ and lower: within the objective` +
        (trend.rival?.isRecorded === true ? `; ${trend.rival.name} is a recording` : ""),
    ),
  ];
}
