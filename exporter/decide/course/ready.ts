import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import type { RouteAccuracy, ServiceAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { READY_SCHEMA, standsAgainst } from "@tradewind/core/contract/ready.ts";
import type { Readiness, ReadyCheck } from "@tradewind/core/contract/ready.ts";
import type { ServedApplication, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import { percent } from "@tradewind/core/values/amounts.ts";
import type { BudgetLeft } from "./points.ts";

/** How far models are off, by service and by route. */
export interface KnownAccuracy {
  readonly services: readonly ServiceAccuracy[];
  readonly routes: readonly RouteAccuracy[];
}

/** What is known of an application that only looks on. */
export interface ReadyFacts {
  readonly place: ApplicationRef;
  readonly nowMs: number;
  readonly head: Pick<
    ServedApplication,
    "measuredLatencySeconds" | "mode" | "objective" | "policy" | "policyReasons" | "problem" | "unmapped"
  >;
  readonly services: readonly ServedRecommendation[];
  /** Requests over the objective of the last 24 h; undefined where there were none. */
  readonly budget: BudgetLeft | undefined;
  /** Share of them over it in the newest windows; undefined likewise. */
  readonly latelyOverRatio: number | undefined;
  /** Of the predictor; undefined where it gives none. */
  readonly accuracy: KnownAccuracy | undefined;
  /** Whether all of the traffic was seen, and what was not, as the newest plan says it. */
  readonly isComplete: boolean;
  readonly missing: readonly string[];
  /** What happened to the application, in any order. */
  readonly events: readonly AuditEvent[];
  /** Services whose maximum the configuration states; undefined where the configuration is not known. */
  readonly bounded: ReadonlySet<string> | undefined;
  /** Time that must have been seen. s */
  readonly neededSeconds: number;
}

/** A day, without what a restart takes: the peak of a day is among it. s */
export const NEEDED_SECONDS = 20 * 3_600;
/** Of the last windows of a service, before its error says anything. */
const LEAST_WINDOWS = 20;
/** Self times are off by half: e^0.4. Beyond it sizes are chosen by chance. Chosen. */
const MOST_ERROR = 0.4;
/** What the models may be worse than the best rule of one line; more, and the predictor itself holds them near. */
const MOST_RULE_RATIO = 1.25;
/** A size that goes back within this time need not have moved. ms */
const SOON_MS = 15 * 60_000;
/** Share of the proposals that may be reverted, and as many in any case. */
const MOST_BACK_RATIO = 0.1;
const MOST_BACK = 2;
/** Of a service that the configuration does not name. */
const USUAL_MAXIMUM = 100;
const DAY_MS = 86_400_000;
const MODEL_POLICIES = new Set(["planner", "planner-prior"]);
const MOST_NAMES = 5;

/** Everything that a scaler can say itself; autoscalers and fallbacks are objects of the cluster. */
export function readiness(facts: ReadyFacts): Readiness {
  const checks = [seenLongEnough, plan, telemetry, model, steady, objective, maximum].map((check) =>
    check(facts),
  );
  return {
    schema: READY_SCHEMA,
    application: facts.place.application,
    namespace: facts.place.namespace,
    atMs: facts.nowMs,
    isSafe: !checks.some(standsAgainst),
    checks,
  };
}

type Check = (facts: ReadyFacts) => ReadyCheck;

const inHours = (seconds: number): string =>
  seconds < 3_600 ? `${Math.floor(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;

const seenLongEnough: Check = ({ budget, neededSeconds }) => {
  const seenSeconds = Math.round(budget?.budgetSeconds ?? 0);
  const isMet = seenSeconds >= neededSeconds;
  return {
    code: "seen",
    isMet,
    text: `requests were seen for ${inHours(seenSeconds)} of the last 24 h${isMet ? "" : `; ${inHours(neededSeconds)} are needed, so that a peak is among them`}`,
    facts: { seenSeconds, neededSeconds },
  };
};

/** Models that decided lately decide again once what they lack is back. ms */
const LATELY_MS = 3_600_000;

const isByModels = ({ head: { policy, problem } }: ReadyFacts): boolean =>
  problem === undefined && policy !== undefined && MODEL_POLICIES.has(policy);

const wasByModels = ({ events, nowMs }: ReadyFacts): boolean =>
  events.some(
    (event) =>
      event.kind === "decision" && MODEL_POLICIES.has(event.policy) && event.atMs > nowMs - LATELY_MS,
  );

const plan: Check = (facts) => {
  const { policy, problem } = facts.head;
  const [isMet, wasMet] = [isByModels(facts), wasByModels(facts)];
  const text =
    problem !== undefined
      ? `no new plan comes: ${problem}`
      : isMet
        ? `level '${policy}' decides, by models`
        : `level '${policy ?? "none"}' decides, which knows no models${wasMet ? "; they decided within the last hour" : ""}; docs/policies.md says what it lacks`;
  const isNote = !isMet && problem === undefined && wasMet;
  return { code: "plan", isMet, ...(isNote && { isNote }), text: text.slice(0, 1_000), facts: {} };
};

const telemetry: Check = ({ head: { unmapped = [] }, isComplete, missing, services }) => {
  const said = [...missing, ...(Array.isArray(unmapped) ? unmapped : [])];
  const isMet = isComplete && said.length === 0;
  return {
    code: "telemetry",
    isMet,
    text: isMet
      ? `all traffic of ${services.length} services is seen`
      : `not all of the traffic is seen; ${said.slice(0, MOST_NAMES).join("; ") || "the predictor says so of the last window"}`.slice(
          0,
          1_000,
        ),
    facts: { services: services.length, missing: said.length },
  };
};

const model: Check = (facts) => {
  const { accuracy, services } = facts;
  const compared = (accuracy?.services ?? []).filter(({ windows }) => windows >= LEAST_WINDOWS);
  const badlyKnown = compared.filter(
    ({ error, isHeldNear, modelError, ruleError }) =>
      error > MOST_ERROR || (isHeldNear && modelError > MOST_RULE_RATIO * ruleError),
  );
  const names = badlyKnown
    .toSorted((a, b) => b.error - a.error)
    .slice(0, MOST_NAMES)
    .map(
      ({ error, modelError, ruleError, service }) =>
        `${service} is off by ${percent(Math.expm1(error))} (models ${percent(Math.expm1(modelError))}, rule of one line ${percent(Math.expm1(ruleError))})`,
    );
  const worst = Math.max(0, ...compared.map(({ error }) => error));
  const isMet = compared.length > 0 && badlyKnown.length === 0;
  const text =
    accuracy === undefined
      ? "the predictor does not say how far its models are off; see whether it runs, by tradewind doctor"
      : compared.length === 0
        ? `the self time of no service was compared over ${LEAST_WINDOWS} windows yet; it comes by itself`
        : isMet
          ? `self times of ${compared.length} services are known within ${percent(Math.expm1(worst))}`
          : `self times of ${badlyKnown.length} of ${compared.length} services are not known well; ${names.join("; ")}`;
  const routes = routesKnown(accuracy?.routes ?? []);
  return {
    code: "model",
    isMet,
    // The planner itself holds such services near, and decides by models that it calibrated.
    ...(!isMet && accuracy !== undefined && (isByModels(facts) || wasByModels(facts)) && { isNote: true }),
    text: `${text}${routes.text}`.slice(0, 1_000),
    facts: {
      services: services.length,
      compared: compared.length,
      off: badlyKnown.length,
      worstErrorRatio: Math.expm1(worst),
      ...routes.facts,
    },
  };
};

/** By route: how far off its percentile was, one window ahead, by the models and by the window before. */
function routesKnown(routes: readonly RouteAccuracy[]): Pick<ReadyCheck, "facts" | "text"> {
  const compared = routes
    .filter(({ windows }) => windows >= LEAST_WINDOWS)
    .toSorted((a, b) => b.modelError - a.modelError);
  if (compared.length === 0) return { text: "", facts: {} };
  const outdone = compared.filter(({ modelError, ruleError }) => modelError > ruleError).length;
  const worst = compared
    .slice(0, MOST_NAMES)
    .map(
      ({ modelError, route, ruleError }) =>
        `'${route}' ${percent(Math.expm1(modelError))} (rule of one line ${percent(Math.expm1(ruleError))})`,
    );
  const { modelError = 0, ruleError = 0 } = compared[0] ?? {};
  return {
    text: `; models are off by route: ${worst.join(", ")}`,
    facts: {
      routes: compared.length,
      routesOutdone: outdone,
      worstRouteErrorRatio: Math.expm1(modelError),
      worstRouteRuleErrorRatio: Math.expm1(ruleError),
    },
  };
}

const steady: Check = ({ events, nowMs }) => {
  const decisions = events.flatMap((event) =>
    event.kind === "decision" && event.atMs > nowMs - DAY_MS ? [event] : [],
  );
  const takenBack = takenBackOf(decisions);
  const isMet = takenBack <= Math.max(MOST_BACK, MOST_BACK_RATIO * decisions.length);
  return {
    code: "steady",
    isMet,
    ...(!isMet && { isNote: true }),
    text: `${takenBack} of ${decisions.length} proposals of the last 24 h were reverted within ${SOON_MS / 60_000} min${isMet ? "" : `; at most ${percent(MOST_BACK_RATIO)} should be: a wider objective or larger steps calm it`}`,
    facts: { proposals: decisions.length, takenBack },
  };
};

/** Proposals of which a size goes back to where it came from, or beyond, soon after. */
function takenBackOf(decisions: readonly Extract<AuditEvent, { kind: "decision" }>[]): number {
  const byService = Map.groupBy(decisions, ({ service }) => service);
  let count = 0;
  for (const ofService of byService.values()) {
    const ordered = ofService.toSorted((a, b) => a.atMs - b.atMs);
    count += ordered.filter((decision, index) =>
      ordered
        .slice(index + 1)
        .some((later) => later.atMs - decision.atMs <= SOON_MS && isBack(decision, later)),
    ).length;
  }
  return count;
}

type Sizes = Pick<Extract<AuditEvent, { kind: "decision" }>, "after" | "before">;

const isBack = (decision: Sizes, later: Sizes): boolean =>
  SIZES.some((size) => {
    const [from, to, then] = [decision.before[size], decision.after[size], later.after[size]];
    if (from === undefined || to === undefined || then === undefined || from === to) return false;
    return to > from ? then <= from : then >= from;
  });

/**
 * What a plan expects counts how far load and models may be off, which adds more than it takes near the knee: of twice the allowed share
 * half comes. Chosen by simulated runs.
 */
const MOST_EXPECTED = 2;

/** A budget that the autoscaler before overspent speaks against act where it is being overspent, and act would not end that. */
const objective: Check = (facts) => {
  const { budget, head, latelyOverRatio = 0 } = facts;
  const { budgetLeftRatio } = budget ?? {};
  const allowedRatio = 1 - (head.objective?.percentile ?? 1);
  const isMissed = latelyOverRatio > allowedRatio;
  const { isEnded, numbers, text: prospect } = prospectOf(facts, allowedRatio);
  const isMet = budgetLeftRatio === undefined || budgetLeftRatio >= 0 || !isMissed || isEnded;
  const now = `${percent(latelyOverRatio)} of the requests of the newest windows are over the objective`;
  const text =
    budgetLeftRatio === undefined
      ? "no request was held to the objective"
      : budgetLeftRatio >= 0
        ? `${percent(budgetLeftRatio)} of the error budget is left`
        : `the error budget is overspent by ${percent(-budgetLeftRatio)}; ${now}${isMissed ? prospect : ""}`;
  const left = budgetLeftRatio === undefined ? {} : { budgetLeftRatio };
  return { code: "objective", isMet, text, facts: { ...left, latelyOverRatio, ...numbers } };
};

/** What would become of a miss. */
interface Prospect {
  readonly isEnded: boolean;
  readonly text: string;
  readonly numbers: Readonly<Record<string, number>>;
}

/** By the models where they say something, else by whether more replicas are recommended. */
function prospectOf(facts: ReadyFacts, allowedRatio: number): Prospect {
  const { head, services } = facts;
  const { expectedOverRatio, isExplained } = expectedNow(head);
  const grows = services.filter(({ replicas, replicasReady = replicas }) => replicas > replicasReady).length;
  if (expectedOverRatio === undefined || (grows > 0 && isWorseByGrowth(facts))) {
    const isEnded = grows > 0;
    const text = isEnded
      ? ", which more replicas are expected to end"
      : ", and no size that is recommended ends it: see tradewind explain";
    return { isEnded, text, numbers: { grows } };
  }
  const isEnded =
    !isUnexplainedFor(head, LEAST_UNEXPLAINED) &&
    expectedOverRatio <= (isExplained ? MOST_EXPECTED : 1) * allowedRatio;
  const then = `${percent(expectedOverRatio)} at the recommended sizes`;
  const text = isEnded
    ? `, and the models expect ${then}`
    : isExplained
      ? `, and the models expect ${then}, of ${percent(allowedRatio)} allowed: see tradewind explain`
      : ", which the models do not explain: see tradewind explain";
  return { isEnded, text, numbers: { expectedOverRatio, grows } };
}

/** What the newest plan expects at the sizes that it recommends, and whether the models explain what was measured. */
function expectedNow({ policyReasons = [] }: ReadyFacts["head"]): {
  readonly expectedOverRatio: number | undefined;
  readonly isExplained: boolean;
} {
  const expected = policyReasons.find(({ code }) => code === "expected-misses");
  const overRatio = expected !== undefined && "overRatio" in expected ? expected.overRatio : undefined;
  return {
    expectedOverRatio: typeof overRatio === "number" ? overRatio : undefined,
    isExplained: policyReasons.every(({ code }) => code !== "models-far-off"),
  };
}

/** Windows that models take to follow what changed; a miss that they leave unexplained for longer has its cause elsewhere. Chosen. */
const LEAST_UNEXPLAINED = 4;

const isUnexplainedFor = ({ policyReasons = [] }: ReadyFacts["head"], least: number): boolean =>
  policyReasons.some(
    (reason) => reason.code === "miss-unexplained" && "windows" in reason && reason.windows >= least,
  );

/** Models that expect more latency with more replicas than is measured now are past what they know: a service is overloaded. */
function isWorseByGrowth({ head: { measuredLatencySeconds = Infinity }, services }: ReadyFacts): boolean {
  return services.some(({ latencyAfterSeconds = 0 }) => latencyAfterSeconds > measuredLatencySeconds);
}

const maximum: Check = ({ bounded, services }) => {
  // Of a configuration that is not known here no more can be said than what plans carry.
  const without = services.filter(({ maxReplicas = USUAL_MAXIMUM, service }) =>
    bounded === undefined ? maxReplicas === USUAL_MAXIMUM : !bounded.has(service),
  );
  const full = services.filter(
    ({ maxReplicas, replicas }) => maxReplicas !== undefined && replicas >= maxReplicas && replicas > 1,
  );
  const isMet = without.length === 0 && full.length === 0;
  const names = (all: readonly ServedRecommendation[]): string =>
    all
      .slice(0, MOST_NAMES)
      .map(({ service }) => service)
      .join(", ");
  const text = isMet
    ? `each of ${services.length} services has a maximum of its own`
    : without.length > 0 && bounded === undefined
      ? `whether ${without.length} services have a maximum of their own is not known: the scaler does not see the configuration, and plans carry the usual ${USUAL_MAXIMUM}; write services with maxReplicas: ${names(without)}`
      : without.length > 0
        ? `${without.length} services have no maximum of their own; write services with maxReplicas: ${names(without)}`
        : `${full.length} services are at their maximum; raise maxReplicas: ${names(full)}`;
  return {
    code: "maximum",
    isMet,
    text,
    facts: { services: services.length, without: without.length, full: full.length },
  };
};
