import { h, render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { linkTo, useRoute } from "./route.js";
import { age, clock } from "./format.js";
import { follow, isOf, keyOf, standings, useKnown, useSeconds, verdictOf } from "./state.js";
import { Chip, Notice } from "./parts.js";
import { Fleet } from "./fleet.js";
import { Overview } from "./overview.js";
import { Services } from "./services.js";
import { Routes } from "./routes.js";
import { CallMap } from "./map.js";
import { Timeline } from "./timeline.js";
import { WhatIf } from "./what-if.js";
import { Incident } from "./incident.js";
import { Plans } from "./plans.js";
import { Backtest } from "./backtest.js";

/** @import { Known, Standing, ViewProps } from "./state.js" */
/** @import { ComponentType } from "preact" */

/** @type {Record<string, { title: string, view: ComponentType<ViewProps> }>} */
const VIEWS = {
  fleet: { title: "Fleet", view: Fleet },
  overview: { title: "Overview", view: Overview },
  services: { title: "Services", view: Services },
  routes: { title: "Routes", view: Routes },
  map: { title: "Map", view: CallMap },
  timeline: { title: "Timeline", view: Timeline },
  "what-if": { title: "What if", view: WhatIf },
  incident: { title: "Incident", view: Incident },
  plans: { title: "Approvals", view: Plans },
  backtest: { title: "Backtest", view: Backtest },
};

/** Light, dark, or as the system has it. */
function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("theme") ?? "");
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
    dispatchEvent(new Event("themechange"));
  }, [theme]);
  const isDark = theme === "" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  return h("button", { onClick: () => setTheme(isDark ? "light" : "dark") }, isDark ? "Light" : "Dark");
}

/** Which application is looked at, where there are several. @param {{ all: readonly Standing[], chosen: Standing | undefined }} props */
function Picker({ all, chosen }) {
  if (all.length < 2) return h("span", { class: "soft" }, chosen?.name);
  return h(
    "label",
    null,
    h("span", { class: "unseen" }, "Application"),
    h(
      "select",
      {
        value: chosen && keyOf(chosen),
        onChange: (/** @type {{ currentTarget: HTMLSelectElement }} */ event) => {
          const shown = location.hash.split(/[/?]/)[1] ?? "";
          location.hash = linkTo(shown === "" || shown === "fleet" ? "overview" : shown, [], {
            application: event.currentTarget.value,
          });
        },
      },
      all.map((each) =>
        h(
          "option",
          { value: keyOf(each), key: keyOf(each) },
          `${keyOf(each)}: ${verdictOf(each).word.toLowerCase()}`,
        ),
      ),
    ),
  );
}

/** How fresh the page is. @param {{ known: Known, standing: Standing | undefined }} props */
function Freshness({ known: { header, heardMs, isConnected }, standing }) {
  const nowMs = useSeconds();
  if (header === undefined) return h("span", { class: "soft" }, "connecting …");
  if (!isConnected) return h(Chip, { kind: "bad" }, "not connected");
  const planAge = standing?.lastPlanAgeSeconds;
  const words = planAge === undefined ? "live" : `live, plan ${age(planAge + (nowMs - heardMs) / 1e3)}`;
  return h("span", { class: "soft small" }, words);
}

/** That the predictor is silent, and until when its last decisions are served. @param {{ known: Known, standing: Standing | undefined }} props */
function Silence({ known: { heardMs, recommendations }, standing }) {
  const nowMs = useSeconds();
  const { silentSeconds } = standing ?? {};
  if (silentSeconds === undefined) return undefined;
  const own = recommendations.filter((each) => isOf(each, standing) && each.valid);
  const untilMs = Math.min(...own.map(({ validUntilMs }) => validUntilMs));
  const left = (untilMs - Date.now()) / 1e3;
  const served =
    own.length === 0
      ? "KEDA is answered UNAVAILABLE, and keeps the current replica counts."
      : `KEDA is answered until ${clock(untilMs)}, ${Math.floor(Math.max(0, left) / 60)} min ${Math.round(Math.max(0, left) % 60)} s from now.`;
  return h(
    Notice,
    { kind: "warn", title: `Predictor down for ${Math.round(silentSeconds + (nowMs - heardMs) / 1e3)} s.` },
    served,
    " Its log says why: ",
    h("code", null, "kubectl logs -l app.kubernetes.io/name=tradewind -c predictor"),
  );
}

/** The application that is looked at, and how it stands. @param {{ known: Known, all: readonly Standing[], standing: Standing | undefined }} props */
function Chosen({ all, known, standing }) {
  const { kind, word } = verdictOf(standing);
  const { mode = "act" } = standing ?? {};
  return [
    h(Picker, { key: "picker", all, chosen: standing }),
    known.header !== undefined && h(Chip, { key: "verdict", kind }, word),
    mode !== "act" && h(Chip, { key: "mode", kind: "info" }, `mode ${mode}: nothing is changed`),
  ];
}

function Console() {
  const route = useRoute();
  const known = useKnown();
  const all = standings(known.header);
  const wanted = route.query.get("application");
  // Where nobody chose one: one that missed its objective as the page was opened.
  const usual = useMemo(
    () => all.filter((each) => verdictOf(each).kind === "bad").map((each) => keyOf(each))[0],
    [all.length],
  );
  const chosen = (/** @type {string | null | undefined} */ key) => all.find((each) => keyOf(each) === key);
  const standing = chosen(wanted) ?? chosen(usual) ?? all[0];
  const first = all.length > 1 ? "fleet" : "overview";
  const view = route.view === "" ? first : route.view;
  const { title, view: View } = VIEWS[view] ?? { title: "Not found", view: Unknown };
  useEffect(() => {
    document.title = `${title} · Tradewind`;
  }, [title]);
  return h(
    "div",
    { class: "frame" },
    h(
      "a",
      {
        class: "skip",
        href: "#view",
        onClick: (/** @type {Event} */ event) => {
          event.preventDefault();
          document.getElementById("view")?.focus();
        },
      },
      "Skip to the view",
    ),
    h(
      "header",
      { class: "top" },
      h("span", { class: "name" }, h("img", { src: "ui/icon.svg", alt: "" }), "Tradewind"),
      view !== "fleet" && h(Chosen, { known, all, standing }),
      h("span", { class: "end" }, h(Freshness, { known, standing }), h(Theme, null)),
    ),
    h(
      "nav",
      { "aria-label": "Views" },
      h(
        "ul",
        null,
        Object.entries(VIEWS).map(([name, each]) =>
          h(
            "li",
            { key: name },
            h("a", { href: linkTo(name), ...(name === view && { "aria-current": "page" }) }, each.title),
          ),
        ),
      ),
    ),
    h(
      "main",
      { id: "view", tabIndex: -1 },
      !known.isConnected &&
        known.header !== undefined &&
        h(
          Notice,
          { kind: "bad", title: "The scaler does not answer." },
          "What is shown is what it said last. Is its pod running? KEDA keeps what runs meanwhile.",
        ),
      known.isConnected && view !== "fleet" && h(Silence, { known, standing }),
      h(View, { key: standing && keyOf(standing), known, standing, route }),
    ),
  );
}

/** @param {ViewProps} props */
const Unknown = ({ route }) =>
  h(Notice, { title: `There is no view '${route.view}'.` }, "Choose one of those beside.");

const root = document.getElementById("app");
if (root !== null) {
  follow();
  render(h(Console, null), root);
}
