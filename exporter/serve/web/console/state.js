import { useEffect, useState } from "preact/hooks";
import { ask } from "./api.js";

/**
 * @import { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts"
 * @import { Measured, MeasuredService } from "@tradewind/core/contract/measured.ts"
 * @import { Course } from "@tradewind/core/contract/measured.ts"
 * @import { Route } from "./route.js"
 */

/**
 * What is known of one application, or of the only one.
 * @typedef {object} Standing
 * @property {string | undefined} name
 * @property {string | undefined} namespace undefined before the first plan
 * @property {string | undefined} problem
 * @property {number | undefined} lastPlanAtMs
 * @property {number | undefined} lastPlanAgeSeconds
 * @property {number | undefined} silentSeconds since a predictor last answered; undefined while it answers
 * @property {string | undefined} policy
 * @property {string | undefined} policyReason
 * @property {"observe" | "recommend" | "act" | undefined} mode
 * @property {{ percentile: number, seconds: number } | undefined} objective
 * @property {number | undefined} measuredLatencySeconds
 * @property {string | undefined} standing the last window in one sentence
 * @property {number | undefined} failedRatio share of the requests that failed, where that are more than may be late
 * @property {RecommendationList["regret"]} regret
 * @property {RecommendationList["cause"]} cause
 * @property {RecommendationList["unmapped"]} unmapped names without a workload, in sentences
 */

/**
 * @typedef {object} Known
 * @property {RecommendationList | undefined} header without recommendations where none were read yet
 * @property {readonly ServedRecommendation[]} recommendations
 * @property {number} heardMs by the browser's monotonic clock, of the header
 * @property {boolean} isConnected
 */

/**
 * What every view is given.
 * @typedef {{ known: Known, standing: Standing | undefined, route: Route }} ViewProps
 */

/** @type {Known} */
let known = { header: undefined, recommendations: [], heardMs: 0, isConnected: false };
/** @type {Set<(known: Known) => void>} */
const listeners = new Set();

/** @param {Partial<Known>} news */
function tell(news) {
  known = { ...known, ...news };
  for (const listener of listeners) listener(known);
}

let reading = false;
let again = false;

/** Reads all recommendations; what changes meanwhile is read once more afterwards. */
async function read() {
  again = reading;
  if (reading) return;
  reading = true;
  try {
    const list = /** @type {RecommendationList} */ (await ask("v1/recommendations"));
    tell({ header: list, recommendations: list.recommendations, heardMs: performance.now() });
  } catch {
    // The stream says when the scaler is back.
  }
  reading = false;
  if (again) void read();
}

/** Three beats of the stream: a connection of which no end was seen says nothing for longer. */
const SILENCE_MS = 12_000;

/** Follows the scaler for as long as the page is open; a browser connects again by itself. */
export function follow() {
  const stream = new EventSource("v1/stream");
  let heardMs = performance.now();
  const watch = setInterval(() => {
    if (performance.now() - heardMs < SILENCE_MS) return;
    tell({ isConnected: false });
    clearInterval(watch);
    stream.close();
    follow();
  }, 1_000);
  for (const kind of ["open", "header", "beat"])
    stream.addEventListener(kind, () => {
      heardMs = performance.now();
    });
  stream.addEventListener("header", (event) => {
    const header = /** @type {RecommendationList} */ (JSON.parse(String(event.data)));
    tell({ header, heardMs: performance.now(), isConnected: true });
    void read();
  });
  stream.addEventListener("error", () => {
    tell({ isConnected: false });
    // A browser gives up where the answer was no stream, as a proxy's error page is none.
    if (stream.readyState !== EventSource.CLOSED) return;
    clearInterval(watch);
    setTimeout(follow, 3_000);
  });
}

/** @returns {Known} */
export function useKnown() {
  const [state, setState] = useState(known);
  useEffect(() => {
    listeners.add(setState);
    setState(known);
    return () => void listeners.delete(setState);
  }, []);
  return state;
}

/** Draws again once a second, for ages. @returns {number} ms, monotonic */
export function useSeconds() {
  const [nowMs, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}

/** Every application. @param {RecommendationList | undefined} header @returns {Standing[]} */
export function standings(header) {
  if (header === undefined) return [];
  const { application, applications, cause, namespace, failedRatio, measuredLatencySeconds } = header;
  const { mode, objective, predictor, regret, standing, unmapped } = header;
  if (applications !== undefined)
    return applications.map((each) => /** @type {Standing} */ (/** @type {unknown} */ (each)));
  const { lastPlanAgeSeconds, lastPlanAtMs, policy, policyReason, problem, silentSeconds } = predictor;
  const plan = { lastPlanAgeSeconds, lastPlanAtMs, policy, policyReason, problem, silentSeconds };
  return [
    {
      name: application,
      namespace,
      ...plan,
      mode,
      objective,
      measuredLatencySeconds,
      failedRatio,
      standing,
      regret,
      cause,
      unmapped,
    },
  ];
}

/** @param {Pick<Standing, "name" | "namespace">} standing */
export const keyOf = ({ name, namespace }) =>
  namespace === undefined ? (name ?? "") : `${namespace}/${name}`;

/** Whether it is of that application; of any where it is not known which. @param {{ namespace: string, application: string }} each @param {Standing | undefined} standing */
export const isOf = ({ application, namespace }, standing) =>
  standing?.name === undefined ||
  (application === standing.name && (standing.namespace === undefined || namespace === standing.namespace));

/** The question for one application. @param {string} path @param {Standing | undefined} standing @param {Record<string, string>} [more] */
export function of(path, standing, more = {}) {
  const place =
    standing?.namespace === undefined
      ? {}
      : { namespace: standing.namespace, application: standing.name ?? "" };
  const search = new URLSearchParams({ ...place, ...more }).toString();
  return search === "" ? path : `${path}?${search}`;
}

/** @param {Standing | undefined} standing @returns {{ word: string, kind: "good" | "warn" | "bad" | "" }} */
export function verdictOf(standing) {
  if (standing?.objective === undefined) return { word: "No plan yet", kind: "warn" };
  if (standing.problem !== undefined) return { word: "No new plan", kind: "warn" };
  const { failedRatio, measuredLatencySeconds, objective } = standing;
  if (measuredLatencySeconds === undefined && failedRatio === undefined)
    return { word: "No traffic", kind: "" };
  const slow = (measuredLatencySeconds ?? 0) / objective.seconds;
  return Math.max(slow, (failedRatio ?? 0) / (1 - objective.percentile)) > 1
    ? { word: "Objective missed", kind: "bad" }
    : { word: "Objective met", kind: "good" };
}
