import { z } from "zod";
import { Accuracy, CauseJudgement, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { ApplicationContext } from "@tradewind/core/contract/context.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { Course, IncidentList, Measured } from "@tradewind/core/contract/measured.ts";
import { NodeClassList } from "@tradewind/core/contract/node-classes.ts";
import { OverrideAnswer, OverrideExchange } from "@tradewind/core/contract/override.ts";
import { PatternList } from "@tradewind/core/contract/pattern.ts";
import { ShadowWeek } from "@tradewind/core/contract/shadow.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { Proposal, ProposalCheck, ProposalList } from "@tradewind/core/contract/proposal.ts";
import { ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import { ContentHash } from "@tradewind/core/contract/quantity.ts";
import { RouteList } from "@tradewind/core/contract/route-list.ts";
import { SensitivityList } from "@tradewind/core/contract/sensitivities.ts";
import { Transcripts } from "@tradewind/core/contract/transcript.ts";
import { WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { DescribedRoute, DescribedServer } from "@tradewind/core/net/openapi.ts";
import { PROFILE_ROUTES } from "@tradewind/core/net/profile-routes.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { Problem } from "@tradewind/core/net/problem.ts";

const ONE = {
  namespace: "Of the application; needed where several are planned.",
  application: "Its name, where the namespace has several.",
};

const get = (
  path: string,
  summary: string,
  more: Omit<DescribedRoute, "method" | "path" | "summary">,
): DescribedRoute => ({
  method: "get",
  path,
  summary,
  ...more,
});

const ofOne = (
  path: string,
  summary: string,
  answer: z.ZodType,
  query: Record<string, string> = {},
): DescribedRoute => get(path, summary, { answer, query: { ...ONE, ...query } });

const SERVICE = { service: "Only of this service." };
const HASH_OF = { answer: z.unknown() };

/** All that the predictor's HTTP side answers. */
const DESCRIBED_ROUTES: readonly DescribedRoute[] = [
  get("/v1/applications", "The applications that are planned, or why not.", { answer: ApplicationList }),
  ofOne("/v1/plan", "The newest plan; `etag` names it.", Plan),
  ofOne("/v1/plan/header", "The same without its services.", Plan),
  ofOne("/v1/windows", "The windows that the newest plan was made of.", WindowSet),
  ofOne("/v1/measured", "What was measured of each service, in short.", Measured),
  ofOne("/v1/routes", "Routes with what each is and why it counts.", RouteList),
  ofOne("/v1/course", "Latency, requests and sizes over time.", Course, {
    since: "ms since 1970; default: all that is kept.",
  }),
  ofOne("/v1/incidents", "Missed objectives, newest first.", IncidentList),
  ofOne("/v1/sensitivities", "What one more core, replica or gibibyte gains.", SensitivityList, SERVICE),
  ofOne("/v1/node-classes", "Where pods of each service run how fast.", NodeClassList),
  ofOne("/v1/forecast", "Requests per second to come.", LoadForecast),
  ofOne("/v1/context", "All that a decision knows; `etag` names it.", ApplicationContext),
  ofOne("/v1/patterns", "Patterns of the days before.", PatternList),
  ofOne("/v1/explain", "Why the objective is missed, or was.", Explanation, {
    at: "ms since 1970; default: now.",
  }),
  ofOne("/v1/transcripts", "What was asked of a language model, and answered.", Transcripts),
  ofOne("/v1/decisions", "Changes that were proposed, newest first.", ProposedChanges, SERVICE),
  ofOne("/v1/report", "A period in figures.", PeriodReport, {
    "from*": "ms since 1970.",
    "to*": "ms since 1970, at most 60 days later.",
  }),
  ofOne("/v1/shadow", "The last seven days beside the HPA before.", ShadowWeek),
  ofOne(
    "/v1/inputs",
    "Hashes of inputs of decisions that are kept.",
    z.object({ hashes: z.array(ContentHash) }),
  ),
  ofOne(
    "/v1/accuracy",
    "How right named causes were, and how far off the models are, by service and route.",
    Accuracy,
  ),
  ofOne("/v1/proposals", "What the last plan changes.", ProposalList),
  get("/v1/inputs/:hash", "The inputs of one decision.", HASH_OF),
  get("/v1/models/:hash", "A model that decided.", HASH_OF),
  {
    method: "post",
    path: "/v1/ask",
    summary:
      "Asks the language model about the last window, and answers when it has; needs the scope `approve`.",
    query: ONE,
    answer: Explanation,
  },
  {
    method: "post",
    path: "/v1/labels",
    summary: "Says what a cause was; needs the scope `approve`.",
    query: ONE,
    body: CauseLabel,
    answer: CauseJudgement,
  },
  {
    method: "post",
    path: "/v1/proposals",
    summary: "Checks proposals of others, and changes nothing.",
    query: ONE,
    body: z.union([Proposal, z.null(), z.array(z.union([Proposal, z.null()]))]),
    answer: ProposalCheck,
  },
  {
    method: "post",
    path: "/v1/proposals/ask",
    summary: "The same, and growth that holds waits for a person; needs the scope `approve`.",
    query: ONE,
    body: z.union([Proposal, z.null(), z.array(z.union([Proposal, z.null()]))]),
    answer: ProposalCheck,
  },
  {
    method: "post",
    path: "/v1/what-if",
    summary: "What the models expect of other sizes or loads.",
    query: ONE,
    body: WhatIfRequest,
    answer: WhatIfAnswer,
  },
  {
    method: "post",
    path: "/v1/overrides",
    summary:
      "Takes what a scaler was ordered, and says what others were; needs the scope `override`, or this machine.",
    query: ONE,
    body: OverrideExchange,
    answer: OverrideAnswer,
  },
  ...PROFILE_ROUTES,
  get("/metrics", "Metrics for Prometheus.", {}),
  get("/healthz", "Whether the process works.", { answer: z.object({ ok: z.literal(true) }) }),
  get("/readyz", "Whether it can be relied on now.", { answer: z.object({ ok: z.literal(true) }) }),
];

export const DESCRIBED: DescribedServer = {
  title: "Tradewind predictor",
  version: VERSION,
  description: "Windows, plans and what they were made of. Nothing that is asked here changes a decision.",
  routes: DESCRIBED_ROUTES,
  problem: Problem,
};
