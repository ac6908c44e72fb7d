import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

/** @import { AlignedData, Options } from "uplot" */

/**
 * A colour as the page has it now: canvas cannot read light-dark().
 * @param {"ink" | "soft" | "line" | "good" | "warn" | "bad" | "link" | "bar" | "bad-tint"} name
 */
export function colour(name) {
  const probe = document.createElement("span");
  probe.className = `colour-${name}`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/**
 * @typedef {object} ChartProps
 * @property {AlignedData} data
 * @property {() => Omit<Options, "width" | "height">} options made again when the theme changes
 * @property {unknown} version options are also made again when this changes
 * @property {number} [height]
 * @property {string} label what it shows, for those who do not see it
 */

/** A plot as wide as its place. @param {ChartProps} props */
export function Chart({ data, options, version, height = 220, label }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | undefined} */ (undefined));
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new uPlot({ ...options(), width: element.clientWidth, height }, latest.current, element);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    addEventListener("themechange", draw);
    return () => {
      resized.disconnect();
      removeEventListener("themechange", draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [version, height]);
  useEffect(() => plot.current?.setData(data), [data]);
  return h("div", { class: "chart", ref: place, role: "img", "aria-label": label });
}

/** Axes in the page's colours. @param {string} unit of the left one */
export function axes(unit) {
  const common = {
    stroke: colour("soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
  };
  const font = "11px system-ui";
  return [
    { ...common, font, values: TIMES, space: 90, size: 28 },
    {
      ...common,
      font,
      size: 62,
      values: (/** @type {uPlot} */ _plot, /** @type {number[]} */ values) =>
        values.map((value) => `${value}${unit}`),
    },
  ];
}

/** @type {import("uplot").Axis.Values} */
const TIMES = (_plot, values) =>
  values.map((value) =>
    new Date(1e3 * value)
      .toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" })
      .replace(/:00$/, ""),
  );
