/** A line of a chart, or its points where `points` is true. Values are in the unit of their axis. */
export interface Series {
  readonly name: string;
  /** A CSS class that gives the colour: `a`, `b` or `c`. */
  readonly tone: "a" | "b" | "c";
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly points?: boolean;
  /** A word beside each point. */
  readonly labels?: readonly string[];
}

export interface Axis {
  readonly label: string;
  /** Writes a value of the axis. */
  readonly format: (value: number) => string;
  /** A line across the chart at this value. */
  readonly mark?: { readonly value: number; readonly label: string };
}

export interface ChartOptions {
  /** Read out in place of the picture. */
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly width?: number;
  readonly height?: number;
}

const MARGIN = { left: 64, right: 16, top: 12, bottom: 40 };
const TICKS = 5;

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** Round values that cover a range: 1, 2 or 5 times a power of ten apart. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step) * step;
  return Array.from(
    { length: Math.floor((high - first) / step + 1e-9) + 1 },
    (_, place) => first + place * step,
  );
}

function rangeOf(values: readonly number[], from: number | undefined): { low: number; high: number } {
  const finite = values.filter(Number.isFinite);
  const low = finite.reduce((least, value) => Math.min(least, value), from ?? Number.POSITIVE_INFINITY);
  const high = finite.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return { low: 0, high: 1 };
  return high > low ? { low, high: high + 0.05 * (high - low) } : { low: low - 0.5, high: high + 0.5 };
}

/** A chart as SVG. Colours come from the page, so that it follows light and dark. The y axis begins at 0. */
export function chart(series: readonly Series[], options: ChartOptions): string {
  const { width = 720, height = 240 } = options;
  const xs = rangeOf(
    series.flatMap(({ x }) => x),
    undefined,
  );
  const marks = options.y.mark === undefined ? [] : [options.y.mark.value];
  const ys = rangeOf([...series.flatMap(({ y }) => y), ...marks], 0);
  const px = (x: number): number =>
    MARGIN.left + ((x - xs.low) / (xs.high - xs.low)) * (width - MARGIN.left - MARGIN.right);
  const py = (y: number): number =>
    height - MARGIN.bottom - ((y - ys.low) / (ys.high - ys.low)) * (height - MARGIN.top - MARGIN.bottom);
  const at = (value: number): string => value.toFixed(1);
  const yTicks = ticks(ys.low, ys.high, TICKS).map(
    (value) =>
      `<line class="grid" x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${at(py(value))}" y2="${at(py(value))}"/>` +
      `<text x="${MARGIN.left - 6}" y="${at(py(value) + 4)}" text-anchor="end">${escapeHtml(options.y.format(value))}</text>`,
  );
  const xTicks = ticks(xs.low, xs.high, TICKS).map(
    (value) =>
      `<text x="${at(px(value))}" y="${height - MARGIN.bottom + 16}" text-anchor="middle">${escapeHtml(options.x.format(value))}</text>`,
  );
  const { mark } = options.y;
  const markLine =
    mark === undefined
      ? ""
      : `<line class="mark" x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${at(py(mark.value))}" y2="${at(py(mark.value))}"/>` +
        `<text x="${width - MARGIN.right}" y="${at(py(mark.value) - 4)}" text-anchor="end">${escapeHtml(mark.label)}</text>`;
  const drawn = series.map((each) => drawSeries(each, { px, py, at }));
  return [
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(options.title)}">`,
    ...yTicks,
    ...xTicks,
    markLine,
    ...drawn,
    `<text x="${MARGIN.left}" y="${height - 6}">${escapeHtml(options.x.label)}</text>`,
    "</svg>",
  ].join("");
}

interface Scale {
  readonly px: (x: number) => number;
  readonly py: (y: number) => number;
  readonly at: (value: number) => string;
}

function drawSeries({ labels, name, points, tone, x, y }: Series, { at, px, py }: Scale): string {
  const pairs = x.flatMap((value, place) => {
    const height = y[place];
    return height === undefined || !Number.isFinite(height)
      ? []
      : [{ place, left: px(value), top: py(height) }];
  });
  if (points !== true) {
    const path = pairs.map(({ left, top }) => `${at(left)},${at(top)}`).join(" ");
    return `<polyline class="${tone}" points="${path}"><title>${escapeHtml(name)}</title></polyline>`;
  }
  return pairs
    .map(({ left, place, top }) => {
      const label = labels?.[place];
      const word =
        label === undefined ? "" : `<text x="${at(left + 6)}" y="${at(top + 4)}">${escapeHtml(label)}</text>`;
      return `<circle class="${tone}" cx="${at(left)}" cy="${at(top)}" r="3"><title>${escapeHtml(label ?? name)}</title></circle>${word}`;
    })
    .join("");
}
