import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ApplicationFields, Objective, ServiceSpec } from "@tradewind/core/contract/application.ts";
import {
  PredictedRoute,
  PredictedService,
  SupposedService,
  WhatIfAnswer,
  WhatIfRequest,
  WhatIfWarning,
} from "@tradewind/core/contract/what-if.ts";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import {
  DecisionRecord,
  RecommendationList,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";

const DOCS = join(import.meta.dirname, "..", "..", "docs");

/** Names in the first column of the tables; the glossary leaves the fields of windows to their page. */
const defined = new Set(
  ["glossary.md", "windows.md"]
    .map((page) => readFileSync(join(DOCS, page), "utf8"))
    .flatMap((text) => [...text.matchAll(/^\| ([^|]+) \|/gm)])
    .flatMap(([, cell = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name)),
);

/** What people configure and what their scripts read; other answers are explained where their page is. */
const SCHEMAS = {
  ApplicationFields,
  Objective,
  ServiceSpec,
  Plan,
  Wish,
  DecisionRecord,
  RecommendationList,
  ServedRecommendation,
  FlowWindow,
  Window,
  WindowSet,
  Snapshot,
  PredictedRoute,
  PredictedService,
  SupposedService,
  WhatIfAnswer,
  WhatIfRequest,
  WhatIfWarning,
};

describe("docs/glossary.md and docs/windows.md define every field of", () => {
  it.each(Object.entries(SCHEMAS))("%s", (_name, { shape }) => {
    expect(Object.keys(shape).filter((field) => !defined.has(field))).toEqual([]);
  });
});

describe("docs/glossary.md names every metric", () => {
  const root = join(import.meta.dirname, "..", "..");
  const files = globSync("{agent,core,exporter,kubernetes,predictor}/**/*.ts", {
    cwd: root,
    exclude: (name) => name === "node_modules",
  });
  const names = files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/["'`](tradewind_[a-z0-9_]+[a-z0-9])["'`]/g)].map(
      ([, name]) => name,
    ),
  );

  it("of the agent, the predictor and the scaler", () => {
    expect(names.length).toBeGreaterThan(100);
    expect([...new Set(names)].filter((name) => !defined.has(name))).toEqual([]);
  });
});

describe("docs/index.md", () => {
  it("links to every page of the documentation", () => {
    const index = readFileSync(join(DOCS, "index.md"), "utf8");
    const pages = globSync("**/*.md", { cwd: DOCS }).filter((page) => page !== "index.md");
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
  });
});
