import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ApplicationFields, Objective, ServiceSpec } from "@tradewind/core/contract/application.ts";
import { Accuracy, CauseJudgement, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { ApplicationList, ListedApplication } from "@tradewind/core/contract/application-list.ts";
import { AuditRow, EventList } from "@tradewind/core/contract/audit.ts";
import { Calendar, CalendarList } from "@tradewind/core/contract/calendar.ts";
import { CalendarChange, ChangeList, SizeChange } from "@tradewind/core/contract/change.ts";
import { ApplicationContext, ContextService } from "@tradewind/core/contract/context.ts";
import {
  CheckedCounterfactual,
  ClearedService,
  EvidenceReading,
  Explanation,
  ModelOpinion,
  NamedCause,
} from "@tradewind/core/contract/explanation.ts";
import { IncidentChange, Precedent, Precedents } from "@tradewind/core/contract/incident.ts";
import {
  Course,
  CoursePoint,
  Deploy,
  Incident,
  IncidentList,
  Measured,
  MeasuredCall,
  MeasuredService,
} from "@tradewind/core/contract/measured.ts";
import { MeasuredMove, NodeClass, NodeClassList, Placement } from "@tradewind/core/contract/node-classes.ts";
import { Pattern, PatternList } from "@tradewind/core/contract/pattern.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { TranscriptLine, Transcripts } from "@tradewind/core/contract/transcript.ts";
import {
  PredictedRoute,
  PredictedService,
  SupposedService,
  WhatIfAnswer,
  WhatIfRequest,
  WhatIfWarning,
} from "@tradewind/core/contract/what-if.ts";
import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { ProposedChange, ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import {
  DecisionRecord,
  RecommendationList,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import { CheckedProposal, Proposal, ProposalCheck, ProposalList } from "@tradewind/core/contract/proposal.ts";
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
  ApplicationFields,
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
  Accuracy,
  CauseJudgement,
  CauseLabel,
  CheckedProposal,
  Proposal,
  ProposalCheck,
  ProposalList,
  AuditRow,
  EventList,
  Calendar,
  CalendarList,
  SizeChange,
  CalendarChange,
  ChangeList,
  ApplicationContext,
  ContextService,
  CheckedCounterfactual,
  ClearedService,
  EvidenceReading,
  Explanation,
  ModelOpinion,
  NamedCause,
  IncidentChange,
  Precedent,
  Precedents,
  Course,
  CoursePoint,
  Deploy,
  Incident,
  IncidentList,
  Measured,
  MeasuredCall,
  MeasuredService,
  NodeClass,
  NodeClassList,
  Placement,
  MeasuredMove,
  Pattern,
  PatternList,
  PeriodReport,
  TranscriptLine,
  Transcripts,
  PredictedRoute,
  PredictedService,
  SupposedService,
  WhatIfAnswer,
  WhatIfRequest,
  WhatIfWarning,
};

describe("docs/glossary.md defines every field of", () => {
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
    const docs = join(import.meta.dirname, "..", "..", "docs");
    const index = readFileSync(join(docs, "index.md"), "utf8");
    const pages = globSync("**/*.md", { cwd: docs }).filter((page) => page !== "index.md");
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
  });
});
