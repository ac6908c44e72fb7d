/** One series of a chart: time in seconds since the epoch, and value. */
export interface Line {
  readonly name: string;
  /** Which of its panel's queries it comes from. */
  readonly query: number;
  readonly points: readonly (readonly [number, number])[];
}

export interface ChartOptions {
  readonly from: number;
  readonly to: number;
  readonly width: number;
  readonly height: number;
  readonly unit?: string | undefined;
  readonly max?: number | undefined;
  readonly stacked: boolean;
}

const COLOURS = ["#2f6fde", "#d9730d", "#2da44e", "#a371f7", "#cf222e", "#1b9aaa", "#b08800", "#6e7781"];
const DASHES = ["", "5 3", "1 4"];
const LEFT = 52;
const TOP = 8;
const BOTTOM = 16;
/** Points further apart than this share of the chart are not joined. */
const GAP = 0.03;

export const escapeText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** A value as it stands at an axis. */
export function axisText(value: number, unit?: string): string {
  const round = (scaled: number): string => String(Number(scaled.toPrecision(3)));
  if (unit === "percentunit") return `${round(value * 100)} %`;
  if (unit === "bytes") {
    const power = value <= 0 ? 0 : Math.min(3, Math.floor(Math.log2(value) / 10));
    return `${round(value / 1024 ** power)} ${["B", "KiB", "MiB", "GiB"][power]}`;
  }
  if (unit === "s")
    return value !== 0 && Math.abs(value) < 1 ? `${round(value * 1e3)} ms` : `${round(value)} s`;
  return round(value) + (unit === "reqps" ? "/s" : "");
}

export function chartSvg(lines: readonly Line[], options: ChartOptions): string {
  const drawn = options.stacked ? stack(lines) : lines;
  const highest = Math.max(...drawn.flatMap(({ points }) => points.map(([, value]) => value)), 0);
  const top = options.max ?? niceTop(highest);
  const { x, y } = scales(options, top);
  const paths = drawn.map(({ points }, index) => {
    const { colour, dash } = strokeOf(lines, index);
    const dashes = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
    return `<path d="${path(points, x, y, options)}" fill="none" stroke="${colour}" stroke-width="1.5"${dashes}/>`;
  });
  return svg(options, grid(options, top, x, y) + paths.join(""));
}

/** The series of one query differ in colour, those of different queries in their dashes. */
export function strokeOf(lines: readonly Line[], index: number): { colour: string; dash: string } {
  const query = lines[index]?.query ?? 0;
  const place = index - lines.findIndex((line) => line.query === query);
  return { colour: COLOURS[place % COLOURS.length] ?? "", dash: DASHES[query % DASHES.length] ?? "" };
}

/** One row for each series, darker with its value from 0 to the maximum. */
export function stateSvg(lines: readonly Line[], options: ChartOptions): string {
  const { x } = scales(options, 1);
  const rowHeight = Math.min(22, (options.height - BOTTOM) / lines.length);
  const step = (options.to - options.from) / 240;
  const rows = lines.map(({ name, points }, row) => {
    const top = row * rowHeight;
    const cells = points.map(([at, value]) => {
      const share = Math.min(1, Math.max(0, value / (options.max ?? 1)));
      const width = (x(at + step) - x(at) + 0.5).toFixed(1);
      const colour = `hsl(${(120 * (1 - share)).toFixed(0)} 55% 55%)`;
      return `<rect x="${x(at).toFixed(1)}" y="${top + 1}" width="${width}" height="${rowHeight - 2}" fill="${colour}"/>`;
    });
    const label = `<text x="${LEFT - 4}" y="${top + rowHeight / 2 + 3}" text-anchor="end">${escapeText((name.split("/").at(-1) ?? name).slice(0, 9))}</text>`;
    return cells.join("") + label;
  });
  return svg(options, rows.join("") + times(options, x));
}

type Scale = (value: number) => number;

function scales({ from, to, width, height }: ChartOptions, top: number): { x: Scale; y: Scale } {
  return {
    x: (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - 4),
    y: (value) => TOP + (1 - Math.min(1, value / top)) * (height - BOTTOM - TOP),
  };
}

function path(points: Line["points"], x: Scale, y: Scale, { from, to }: ChartOptions): string {
  let last = Number.NEGATIVE_INFINITY;
  return points
    .map(([at, value]) => {
      const isJoined = at - last <= GAP * (to - from);
      last = at;
      return `${isJoined ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    })
    .join("");
}

function grid(options: ChartOptions, top: number, x: Scale, y: Scale): string {
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = y(share * top).toFixed(1);
    return `<path d="M${LEFT} ${at}H${options.width - 4}" stroke="#e6e8ea"/><text x="${LEFT - 4}" y="${Number(at) + 3}" text-anchor="end">${axisText(share * top, options.unit)}</text>`;
  });
  return marks.join("") + times(options, x);
}

function times({ from, to, height }: ChartOptions, x: Scale): string {
  const marks: string[] = [];
  for (let at = Math.ceil(from / 60) * 60; at <= to; at += 60) {
    const text = new Date(at * 1e3).toISOString().slice(11, 16);
    marks.push(`<text x="${x(at).toFixed(1)}" y="${height - 3}" text-anchor="middle">${text}</text>`);
  }
  return marks.join("");
}

const svg = ({ width, height }: ChartOptions, content: string): string =>
  `<svg viewBox="0 0 ${width} ${height}" font-size="10" fill="#57606a">${content}</svg>`;

/** The next of 1, 2, 4, 5, 8 times a power of ten. */
function niceTop(highest: number): number {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return ([1, 2, 4, 5, 8, 10].find((step) => step * power >= highest) ?? 10) * power;
}

function stack(lines: readonly Line[]): Line[] {
  const sums = new Map<number, number>();
  return lines.map(({ name, points, query }) => ({
    name,
    query,
    points: points.map(([at, value]) => {
      const sum = (sums.get(at) ?? 0) + value;
      sums.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}
