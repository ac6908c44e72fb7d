import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Accuracy, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { Application, Objective, ServiceSpec } from "@tradewind/core/contract/application.ts";
import { ApplicationList, ListedApplication } from "@tradewind/core/contract/application-list.ts";
import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { CheckedProposal, Proposal, ProposalCheck } from "@tradewind/core/contract/proposal.ts";
import { ProposedChange, ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import {
  DecisionRecord,
  RecommendationList,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import { SensitivityList, ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { describe, expect, it } from "vitest";

const glossary = readFileSync(join(import.meta.dirname, "..", "..", "docs", "glossary.md"), "utf8");

/** Names in the first column of the tables. */
const defined = new Set(
  [...glossary.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  ),
);

const SCHEMAS = {
  Accuracy,
  CauseLabel,
  CheckedProposal,
  Proposal,
  ProposalCheck,
  Application,
  Objective,
  ServiceSpec,
  ApplicationList,
  ListedApplication,
  LoadForecast,
  Plan,
  Wish,
  ProposedChange,
  ProposedChanges,
  DecisionRecord,
  RecommendationList,
  ServedRecommendation,
  SensitivityList,
  ServiceSensitivity,
  Snapshot,
  FlowWindow,
  Window,
  WindowSet,
  WorkloadList,
};

describe("docs/glossary.md defines every field of", () => {
  it.each(Object.entries(SCHEMAS))("%s", (_name, { shape }) => {
    expect(Object.keys(shape).filter((field) => !defined.has(field))).toEqual([]);
  });
});

describe("docs/index.md", () => {
  it("links to every page of the documentation", () => {
    const docs = join(import.meta.dirname, "..", "..", "docs");
    const index = readFileSync(join(docs, "index.md"), "utf8");
    const pages = globSync("**/*.md", { cwd: docs }).filter((page) => page !== "index.md");
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
  });
});
