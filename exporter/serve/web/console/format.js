/** How numbers are written on every page. Absent is a dash, never 0. */

const DASH = "–";

/** @param {number | undefined} seconds */
export function ms(seconds) {
  if (seconds === undefined) return DASH;
  if (seconds >= 1) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const value = 1e3 * seconds;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** @param {number | undefined} seconds */
export function age(seconds) {
  if (seconds === undefined) return "at an unknown time";
  if (seconds < 1) return "now";
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h ago` : `${Math.round(seconds / 86_400)} d ago`;
}

/** @param {number | undefined} value */
export const cores = (value) => (value === undefined ? DASH : `${+value.toPrecision(3)}`);

/** @param {number | undefined} value */
export const bytes = (value) =>
  value === undefined
    ? DASH
    : value < 2 ** 30
      ? `${Math.round(value / 2 ** 20)} MiB`
      : `${+(value / 2 ** 30).toPrecision(3)} GiB`;

/** @param {number | undefined} ratio @param {number} [digits] */
export const percent = (ratio, digits = 0) =>
  ratio === undefined ? DASH : `${(100 * ratio).toFixed(digits)} %`;

/** @param {number | undefined} value */
export const rate = (value) =>
  value === undefined ? DASH : value < 10 ? `${+value.toFixed(1)}` : Math.round(value).toLocaleString("en");

const OF_ALL = " over it or failed";

/** What a reason says of its service, without how the whole application stood: that is the same in all of one window. @param {string} reason */
export function ownPart(reason) {
  const from = reason.indexOf(OF_ALL);
  return from < 0 ? reason : reason.slice(from + OF_ALL.length).replace(/^[:;,] /, "");
}

/** @param {number | undefined} value in the application's own currency */
export const money = (value) =>
  value === undefined ? DASH : value < 10 ? value.toFixed(3) : value.toFixed(2);

/** @param {number | undefined} value */
export const count = (value) => (value === undefined ? DASH : value.toLocaleString("en"));

/** The time of today; of another day with its date. @param {number} atMs */
export function clock(atMs) {
  const at = new Date(atMs);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString("en-GB") : date(atMs);
}

/** With the year where it is another one. @param {number} atMs */
export const date = (atMs) =>
  new Date(atMs).toLocaleString("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    ...(new Date(atMs).getFullYear() !== new Date().getFullYear() && { year: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
  });

/** @param {number} percentile @returns p95 of 0.95 */
export const percentileName = (percentile) => `p${+(100 * percentile).toFixed(1)}`;

/** How a size is called and written. */
export const SIZES = /** @type {const} */ ({
  replicas: { title: "replicas", write: count },
  cpuCores: { title: "CPU", write: (/** @type {number | undefined} */ value) => `${cores(value)} cores` },
  memoryBytes: { title: "memory", write: bytes },
});
