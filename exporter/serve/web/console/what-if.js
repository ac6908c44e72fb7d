import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiProblem, post } from "./api.js";
import { bytes, cores, count, money, ms, percent, percentileName, rate } from "./format.js";
import { Card, FromTo, Missing, Notice, Table, Tile, useId } from "./parts.js";
import { linkTo, replaceLink } from "./route.js";
import { isOf } from "./state.js";

/** @import { WhatIfAnswer, SupposedService } from "@tradewind/core/contract/what-if.ts" */
/** @import { ViewProps } from "./state.js" */

/** What is supposed. @typedef {{ load: number, services: Record<string, Omit<SupposedService, "service">> }} Supposed */

const MEMORY_NOTE = "Memory changes the price only: the models know no effect of it on latency.";
/** A hand on a slider asks no more often. */
const WAIT_MS = 60;

/** @param {URLSearchParams} query @returns {Supposed} */
function read(query) {
  const load = Number(query.get("load") ?? 1);
  /** @type {Supposed["services"]} */
  const services = {};
  for (const text of query.getAll("set")) {
    const [service = "", ...sizes] = text.split("~");
    const [replicas, cpuCores, memoryBytes] = sizes.map((each) => (each === "" ? undefined : Number(each)));
    services[service] = {
      ...(replicas && { replicas }),
      ...(cpuCores && { cpuCores }),
      ...(memoryBytes && { memoryBytes }),
    };
  }
  return { load: load > 0 ? load : 1, services };
}

/** @param {Supposed} supposed @param {string} chosen */
function linkOf({ load, services }, chosen) {
  const sets = Object.entries(services).map(
    ([service, { cpuCores = "", memoryBytes = "", replicas = "" }]) =>
      `set=${encodeURIComponent(`${service}~${replicas}~${cpuCores}~${memoryBytes}`)}`,
  );
  const link = linkTo("what-if", [], { service: chosen, load: load === 1 ? "" : String(load) });
  return sets.length === 0 ? link : `${link}${link.includes("?") ? "&" : "?"}${sets.join("&")}`;
}

/** What would be at another load or other sizes, by the models that decide. @param {ViewProps} props */
export function WhatIf({ known, route, standing }) {
  const [supposed, setSupposed] = useState(() => read(route.query));
  const { all, answer, problem } = useAnswers(supposed, standing, standing?.lastPlanAtMs);
  const [chosen, setChosen] = useState(route.query.get("service") ?? "");
  const services = all?.services ?? [];
  const service = services.some((each) => each.service === chosen) ? chosen : (slowest(all) ?? "");
  useEffect(() => replaceLink(linkOf(supposed, chosen)), [supposed, chosen]);
  const recommended = useMemo(
    () =>
      recommendedSizes(
        known.recommendations.filter((each) => isOf(each, standing)),
        services,
      ),
    [known.recommendations, all, standing],
  );
  if (all === undefined)
    return [
      h("h1", { key: "title" }, "What if"),
      h(Missing, { key: "none", problem, what: "models", title: "What-if needs the predictor:" }),
    ];
  const now = services.find((each) => each.service === service)?.now;
  const own = supposed.services[service] ?? {};
  /** @param {Partial<SupposedService>} change */
  const change = (change) =>
    setSupposed({ ...supposed, services: { ...supposed.services, [service]: { ...own, ...change } } });
  return [
    h(
      "div",
      { class: "row", key: "title" },
      h("h1", null, "What if"),
      h("span", { class: "soft" }, "asked of the models that decide; nothing is changed"),
    ),
    h(
      "div",
      { class: "columns what-if", key: "all" },
      h(
        "div",
        { class: "stack" },
        h(
          Card,
          { title: "Load" },
          h(Slider, {
            label: `${+supposed.load.toFixed(2)} × the load that is planned for`,
            value: Math.log2(supposed.load),
            min: -2,
            max: 3,
            step: 0.05,
            write: (value) => `${+(2 ** value).toFixed(2)} times`,
            onValue: (value) => setSupposed({ ...supposed, load: +(2 ** value).toFixed(3) }),
          }),
          h(
            "p",
            { class: "soft small" },
            `Planned for: ${+all.load.now.toFixed(2)} times the load of the last window.`,
          ),
        ),
        h(
          Card,
          { title: "Sizes" },
          h(
            "label",
            { class: "field" },
            "Service ",
            h(
              "select",
              {
                value: service,
                onChange: (/** @type {{ currentTarget: HTMLSelectElement }} */ event) =>
                  setChosen(event.currentTarget.value),
              },
              services.map((each) =>
                h(
                  "option",
                  { key: each.service, value: each.service },
                  `${each.service}${supposed.services[each.service] ? " (changed)" : ""}${each.isModelled ? "" : " (no model)"}`,
                ),
              ),
            ),
          ),
          now !== undefined &&
            h(
              "div",
              { class: "stack" },
              h(Slider, {
                label: `Replicas ${own.replicas ?? now.replicas} (now ${now.replicas})`,
                value: own.replicas ?? now.replicas,
                min: 1,
                max: Math.max(8, 4 * now.replicas),
                step: 1,
                write: String,
                onValue: (replicas) => change({ replicas }),
              }),
              h(Slider, {
                label: `CPU of each ${cores(own.cpuCores ?? now.cpuCores)} cores (now ${cores(now.cpuCores)})`,
                value: Math.log2((own.cpuCores ?? now.cpuCores) / now.cpuCores),
                min: -3,
                max: 3,
                step: 0.05,
                write: (value) => `${cores(now.cpuCores * 2 ** value)} cores`,
                onValue: (value) => change({ cpuCores: now.cpuCores * 2 ** value }),
              }),
              now.memoryBytes > 0 &&
                h(Slider, {
                  label: `Memory of each ${bytes(own.memoryBytes ?? now.memoryBytes)} (now ${bytes(now.memoryBytes)})`,
                  value: Math.log2((own.memoryBytes ?? now.memoryBytes) / now.memoryBytes),
                  min: -3,
                  max: 3,
                  step: 0.05,
                  write: (value) => bytes(now.memoryBytes * 2 ** value),
                  onValue: (value) => change({ memoryBytes: now.memoryBytes * 2 ** value }),
                }),
              h("p", { class: "soft small" }, MEMORY_NOTE),
            ),
          h(
            "div",
            { class: "row" },
            h("button", { onClick: () => setSupposed({ load: 1, services: {} }) }, "As it is"),
            h(
              "button",
              { onClick: () => setSupposed({ ...supposed, services: recommended }) },
              "As recommended",
            ),
          ),
        ),
      ),
      h(
        "div",
        { class: "stack" },
        problem !== undefined && h(Missing, { problem, what: "answer" }),
        answer !== undefined && h(Answer, { answer }),
      ),
    ),
  ];
}

/** @param {WhatIfAnswer | undefined} all */
const slowest = (all) =>
  all?.services.toSorted((a, b) => b.now.selfTimeSeconds - a.now.selfTimeSeconds)[0]?.service;

/** @param {ViewProps["known"]["recommendations"]} recommendations @param {WhatIfAnswer["services"]} services @returns {Supposed["services"]} */
function recommendedSizes(recommendations, services) {
  const asked = new Set(services.map(({ service }) => service));
  return Object.fromEntries(
    recommendations
      .filter(({ service }) => asked.has(service))
      .map(({ advised = [], cpuCores, memoryBytes, replicas, service }) => [
        service,
        {
          replicas: Math.max(1, replicas),
          ...(cpuCores && !advised.includes("cpu") && { cpuCores }),
          ...(memoryBytes && !advised.includes("memory") && { memoryBytes }),
        },
      ]),
  );
}

/** All services as they are, and the answer to what is supposed: the newest question counts. @param {Supposed} supposed @param {ViewProps["standing"]} standing @param {unknown} version */
function useAnswers(supposed, standing, version) {
  const [state, setState] = useState(
    /** @type {{ all?: WhatIfAnswer, answer?: WhatIfAnswer, problem?: ApiProblem }} */ ({}),
  );
  const isFirst = useRef(true);
  useEffect(() => {
    const leaving = new AbortController();
    const place =
      standing?.namespace === undefined ? {} : { namespace: standing.namespace, application: standing.name };
    const question = {
      ...place,
      load: supposed.load,
      services: Object.entries(supposed.services).map(([service, sizes]) =>
        Object.assign({ service }, sizes),
      ),
    };
    const put = async () => {
      try {
        const all = /** @type {WhatIfAnswer} */ (await post("v1/what-if", place, leaving.signal));
        setState((last) => ({ ...last, all }));
        const answer = /** @type {WhatIfAnswer} */ (await post("v1/what-if", question, leaving.signal));
        setState({ all, answer });
      } catch (error) {
        if (leaving.signal.aborted) return;
        const problem = error instanceof ApiProblem ? error : new ApiProblem(String(error), 0, "");
        setState((last) => ({ ...last, problem }));
      }
    };
    const timer = setTimeout(() => void put(), isFirst.current ? 0 : WAIT_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [supposed, standing?.name, standing?.namespace, version]);
  return { all: state.all, answer: state.answer, problem: state.problem };
}

/** @param {{ label: string, value: number, min: number, max: number, step: number, write: (value: number) => string, onValue: (value: number) => void }} props */
function Slider({ label, max, min, onValue, step, value, write }) {
  const id = useId("slider");
  return h(
    "div",
    { class: "slider" },
    h("label", { for: id }, label),
    h("input", {
      type: "range",
      id,
      min,
      max,
      step,
      value,
      "aria-valuetext": write(value),
      onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
        onValue(Number(event.currentTarget.value)),
    }),
  );
}

/** @param {{ answer: WhatIfAnswer }} props */
function Answer({ answer }) {
  const { costPerHour: cost, overRatio: over, routes, services } = answer;
  // A predictor of an earlier release gives none.
  const warnings = /** @type {WhatIfAnswer["warnings"] | undefined} */ (answer.warnings) ?? [];
  const difference = cost.now === 0 ? undefined : cost.then / cost.now - 1;
  const first = routes[0];
  const most = Math.max(
    ...routes.map(({ now, objectiveSeconds, then }) =>
      Math.max(1.3 * objectiveSeconds, now.highSeconds, Math.min(then.highSeconds, 5 * objectiveSeconds)),
    ),
  );
  const isMissed = first !== undefined && first.then.latencySeconds > first.objectiveSeconds;
  return h(
    "div",
    { class: "stack" },
    warnings.length > 0 &&
      h(
        Notice,
        { kind: "warn", title: "Careful." },
        h(
          "ul",
          null,
          warnings.map(({ words }) => h("li", { key: words }, `${words}.`)),
        ),
      ),
    h(
      "dl",
      { class: "tiles" },
      h(
        Tile,
        {
          label: "Slowest route",
          kind: isMissed ? "missed" : "",
          note: isMissed ? "over the objective" : "within the objective",
        },
        h(FromTo, { now: first?.now.latencySeconds, then: first?.then.latencySeconds, write: ms }),
      ),
      h(
        Tile,
        {
          label: "Cost per hour",
          note:
            difference === undefined
              ? ""
              : `${difference >= 0 ? "+" : "−"}${percent(Math.abs(difference), 1)}`,
        },
        h(FromTo, { now: cost.now, then: cost.then, write: money }),
      ),
      h(
        Tile,
        { label: "Requests over the objective", note: "expected, of all" },
        h(FromTo, { now: over.now, then: over.then, write: (value) => percent(value, 1) }),
      ),
    ),
    h(
      Card,
      {
        title: `Predicted ${percentileName(answer.objective.percentile)} by route, with its 90 % interval`,
      },
      h(
        "ul",
        { class: "routes" },
        routes.slice(0, 40).map((each) => h("li", { key: each.route }, h(Route, { each, most }))),
      ),
    ),
    services.length > 0 &&
      h(
        Card,
        { title: "Services" },
        h(Table, {
          caption: "Now → then",
          head: [
            ["Service"],
            ["Replicas", "number"],
            ["CPU each", "number"],
            ["Req/s", "number"],
            ["Self time", "number"],
          ],
          rows: services
            .slice(0, 60)
            .map(({ now, service, then }) =>
              h(
                "tr",
                { key: service },
                h("td", null, service),
                h(
                  "td",
                  { class: "number" },
                  h(FromTo, { now: now.replicas, then: then.replicas, write: count }),
                ),
                h(
                  "td",
                  { class: "number" },
                  h(FromTo, { now: now.cpuCores, then: then.cpuCores, write: cores }),
                ),
                h(
                  "td",
                  { class: "number" },
                  h(FromTo, { now: now.requestsPerSecond, then: then.requestsPerSecond, write: rate }),
                ),
                h(
                  "td",
                  { class: "number" },
                  h(FromTo, { now: now.selfTimeSeconds, then: then.selfTimeSeconds, write: ms }),
                ),
              ),
            ),
        }),
      ),
  );
}

/** Now and then as bars of the interval against the objective. @param {{ each: WhatIfAnswer["routes"][number], most: number }} props */
function Route({ each, most }) {
  const { lastWindow, now, objectiveSeconds, route, then } = each;
  const measured = lastWindow === undefined ? "" : `, measured ${ms(lastWindow.measuredSeconds)}`;
  const isMissed = then.latencySeconds > objectiveSeconds;
  const at = (/** @type {number} */ seconds) => 100 * Math.min(1, seconds / most);
  return h(
    "div",
    null,
    h(
      "div",
      { class: "row" },
      h("code", null, route),
      h(
        "span",
        { class: `number ${isMissed ? "bad" : "good"}` },
        `${ms(then.latencySeconds)} (${ms(then.lowSeconds)} to ${ms(then.highSeconds)}), ${isMissed ? "over" : "within"} ${ms(objectiveSeconds)}`,
      ),
      h(
        "span",
        { class: "soft small" },
        `now ${ms(now.latencySeconds)}${measured}; ${percent(then.overRatio, 1)} of requests over`,
      ),
    ),
    h(
      "svg",
      { class: "interval", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" },
      h("rect", {
        class: "now",
        x: at(now.lowSeconds),
        width: Math.max(0.5, at(now.highSeconds) - at(now.lowSeconds)),
        y: 2,
        height: 4,
      }),
      h("rect", {
        class: isMissed ? "then missed" : "then",
        x: at(then.lowSeconds),
        width: Math.max(0.5, at(then.highSeconds) - at(then.lowSeconds)),
        y: 8,
        height: 6,
      }),
      h("rect", { class: "point", x: at(then.latencySeconds) - 0.2, width: 0.5, y: 7, height: 8 }),
      h("rect", { class: "objective", x: at(objectiveSeconds) - 0.15, width: 0.35, y: 0, height: 16 }),
    ),
  );
}
