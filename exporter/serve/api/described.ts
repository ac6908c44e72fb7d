import { z } from "zod";
import { EventList } from "@tradewind/core/contract/audit.ts";
import { BacktestSummary } from "@tradewind/core/contract/backtest.ts";
import { CalendarList } from "@tradewind/core/contract/calendar.ts";
import { Change, ChangeList } from "@tradewind/core/contract/change.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { IncidentList, KeptCourse, Measured } from "@tradewind/core/contract/measured.ts";
import { Fleet } from "@tradewind/core/contract/fleet.ts";
import { OverrideList } from "@tradewind/core/contract/override.ts";
import { ShadowWeek } from "@tradewind/core/contract/shadow.ts";
import { PatternList } from "@tradewind/core/contract/pattern.ts";
import { DecisionRecord, RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { Readiness } from "@tradewind/core/contract/ready.ts";
import { RouteList } from "@tradewind/core/contract/route-list.ts";
import { SensitivityList } from "@tradewind/core/contract/sensitivities.ts";
import { WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import type { DescribedRoute, DescribedServer } from "@tradewind/core/net/openapi.ts";
import { PROFILE_ROUTES } from "@tradewind/core/net/profile-routes.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { Problem } from "@tradewind/core/net/problem.ts";
import { OverrideForm } from "./overrides.ts";

const get = (
  path: string,
  summary: string,
  more: Omit<DescribedRoute, "method" | "path" | "summary"> = {},
): DescribedRoute => ({ method: "get", path, summary, ...more });

/** What the predictor is asked, whose plan is in use. */
const asked = (path: string, summary: string, answer: z.ZodType, query = {}): DescribedRoute =>
  get(path, `${summary} Asked of the predictor.`, {
    answer,
    query: {
      namespace: "Of the application; needed where several are planned, and by a token for some namespaces.",
      application: "Its name, where the namespace has several.",
      ...query,
    },
  });

/** All that the scaler's HTTP side answers. */
const DESCRIBED_ROUTES: readonly DescribedRoute[] = [
  get("/v1/recommendations", "The decisions in force.", { answer: RecommendationList }),
  get("/v1/decisions/:id", "The record of one decision.", { answer: DecisionRecord }),
  get("/v1/decisions/:id/replay", "The same decision made again from its record.", {
    answer: z.object({ same: z.boolean(), words: z.string() }),
  }),
  get("/v1/decisions", "Decisions of one service that changed a size, newest first.", {
    query: { "namespace*": "Of the service.", "service*": "Its name." },
    answer: z.object({ decisions: z.array(DecisionRecord) }),
  }),
  get("/v1/stream", "Decisions as they are made, as server-sent events.", { mediaType: "text/event-stream" }),
  get("/v1/events", "What happened, newest first.", {
    query: {
      namespace: "Only of this one.",
      application: "Only of this one.",
      service: "Only of this one.",
      before: "ms since 1970.",
      most: "1 to 2000.",
    },
    answer: EventList,
  }),
  get("/v1/changes", "Changes that wait for a person, and what became of others.", { answer: ChangeList }),
  {
    method: "post",
    path: "/v1/changes/:id",
    summary: "Approves or refuses a change; needs a token of the scope `approve`.",
    body: z.object({
      verdict: z.enum(["approve", "refuse"]),
      at: z.string().optional(),
      by: z.string().optional(),
    }),
    answer: Change,
  },
  get("/v1/overrides", "What people ordered in the place of the plan.", { answer: OverrideList }),
  {
    method: "post",
    path: "/v1/overrides",
    summary: "Pauses, holds, keeps at a floor, undoes or releases; needs a token of the scope `override`.",
    body: OverrideForm,
    answer: OverrideList.pick({ overrides: true }),
  },
  get("/v1/calendars", "Times that are known in advance.", { answer: CalendarList }),
  get("/v1/backtest", "The backtest that the operator names.", { answer: BacktestSummary }),
  asked("/v1/measured", "What was measured of each service, in short.", Measured),
  asked("/v1/routes", "Routes with what each is and why it counts.", RouteList),
  get("/v1/course", "The last 24 hours of an application, or of one of its services.", {
    answer: KeptCourse,
    query: {
      namespace: "Of the application; needed where several have windows.",
      application: "Its name, where the namespace has several.",
      service: "Of this service instead.",
      since: "ms since 1970.",
    },
  }),
  get("/v1/ready", "Whether an application can be set to `act`: safe, or what is not met yet.", {
    answer: Readiness,
    query: {
      namespace: "Of the application; needed where there are several.",
      application: "Its name, where the namespace has several.",
      needed: "Seconds of the last 24 h that must have been seen; 72000 by default.",
    },
  }),
  get("/v1/fleet", "All applications in one line each, worst first.", {
    answer: Fleet,
    query: { own: "Any value: without the clusters that --fleet names." },
  }),
  asked("/v1/incidents", "Missed objectives, newest first.", IncidentList),
  asked("/v1/patterns", "Patterns of the days before.", PatternList),
  asked("/v1/explain", "Why the objective is missed, or was.", Explanation, {
    at: "ms since 1970; default: now.",
  }),
  asked("/v1/forecast", "Requests per second to come.", LoadForecast),
  asked("/v1/shadow", "The last seven days beside the HPA before.", ShadowWeek),
  asked("/v1/sensitivities", "What one more core, replica or gibibyte gains.", SensitivityList, {
    service: "Only of this service.",
  }),
  {
    method: "post",
    path: "/v1/what-if",
    summary: "What the models expect of other sizes or loads. Asked of the predictor.",
    body: WhatIfRequest,
    answer: WhatIfAnswer,
  },
  ...PROFILE_ROUTES,
  get("/", "The page.", { mediaType: "text/html" }),
  get("/ui/:file", "Files of the page.", { mediaType: "*/*" }),
  get("/metrics", "Metrics for Prometheus."),
  get("/healthz", "Whether the process works.", { answer: z.object({ status: z.literal("ok") }) }),
  get("/readyz", "Whether it answers KEDA, and what is missing for good answers.", {
    answer: z.object({ ready: z.boolean(), missing: z.array(z.string()) }),
    statuses: [200, 503],
  }),
];

export const DESCRIBED: DescribedServer = {
  title: "Tradewind scaler",
  version: VERSION,
  description:
    "Decisions in force, why they are, and what people say of them. KEDA asks at another port, by gRPC.",
  routes: DESCRIBED_ROUTES,
  problem: Problem,
};
