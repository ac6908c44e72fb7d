import { hardwareInWords } from "@tradewind/core/contract/node-classes.ts";
import type { NodeClass } from "@tradewind/core/contract/node-classes.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { CREATE_INSTANCE, Proposal } from "@tradewind/core/contract/proposal.ts";
import type { CheckedProposal, PROPOSAL_VERDICTS } from "@tradewind/core/contract/proposal.ts";
import { QUOTA_AMOUNTS } from "@tradewind/core/contract/workload.ts";
import { issuesInWords } from "@tradewind/core/values/errors.ts";
import { formatMemory, percent } from "@tradewind/core/values/amounts.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import { suppose } from "../../decide/cost/price/suppose.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";

type Verdict = (typeof PROPOSAL_VERDICTS)[number];

/** Older than so many windows a proposal is about another time; further ahead than so long, too. */
const MOST_WINDOWS = 2;
const MOST_AHEAD_MS = 86_400_000;
const MOST_SAMPLED_MS = 3_600_000;
/** One step adds no more than this: what the scaler's guard lets one plan add by default, and what a model's answer may. */
const GROWTH_FACTOR = 2;
const GROWTH_REPLICAS = 4;
/** A change of the worst route by less than this share of its objective is none. */
const SAME = 0.02;
const MOST_WORDS = 500;
/** Classes of nodes that are named to somebody who asks for other nodes. */
const MOST_CLASSES = 4;

/** What proposals are checked against: the last plan with its models. */
export interface ProposalContext {
  readonly plan: Pick<Plan, "namespace" | "room" | "windowSeconds" | "wishes">;
  /** The objective is missed now. */
  readonly isMissed: boolean;
  /** Undefined where none decided. */
  readonly models: WhatIf | undefined;
  /** Pods that the application may use in all. */
  readonly budgetPods: number | undefined;
  readonly nowMs: number;
  /** Classes of nodes with what agents have read of them. */
  readonly classes?: () => readonly NodeClass[];
  /** Percent, by service. */
  readonly confidenceOf: (service: string) => number;
}

interface Size {
  readonly replicas: number;
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
}

/** Why something of a proposal does not hold. */
interface Fault {
  readonly verdict: Verdict;
  readonly why: string;
}

/** Checks what somebody proposes. Never throws and changes nothing, whatever it is. */
export function checkProposal(value: unknown, context: ProposalContext): CheckedProposal {
  if (value === null) return { verdict: "nothing", why: "nothing is proposed" };
  const { data: proposal, error } = Proposal.safeParse(value);
  if (proposal === undefined) return said({ verdict: "format", why: issuesInWords(error.issues) });
  const { confidence: claimedConfidence } = proposal;
  const found = wishOf(proposal, context.plan);
  if ("verdict" in found) return said(found);
  const { service } = found;
  if (proposal.rules.includes("sample")) return { service, ...sampled(proposal, service, context) };
  const now = sizeNow(found);
  const about = {
    service,
    now,
    confidence: context.confidenceOf(service),
    ...(claimedConfidence !== undefined && { claimedConfidence }),
  };
  const then = sizeThen(proposal, now, context.classes?.() ?? []);
  if ("verdict" in then) return { ...about, ...said(then) };
  const fault =
    untimely(proposal, context) ??
    (isSame(now, then) ? { verdict: "nothing" as const, why: `'${service}' has that size` } : undefined) ??
    beyondBounds(found, now, then, context) ??
    unsafe(found, now, then, context) ??
    withoutRoom(found, now, then, context);
  if (fault !== undefined) return { ...about, then, ...said(fault) };
  return { ...about, then, ...judged(service, now, then, context.models) };
}

const said = ({ verdict, why }: Fault): Fault => ({
  verdict,
  why: why.replaceAll(/\p{C}+/gu, " ").slice(0, MOST_WORDS),
});

/** The target wins over the name. A name is taken only where it fits one service. */
function wishOf({ name, target }: Proposal, { namespace, wishes }: ProposalContext["plan"]): Wish | Fault {
  const known = wishes.filter((each) => each.namespace === namespace);
  if (target !== undefined) {
    const found = known.find(({ service }) => service === target.service);
    if (found !== undefined && (target.namespace ?? namespace) === namespace) return found;
    return { verdict: "no-such-service", why: `'${target.service}' is not planned in '${namespace}'` };
  }
  const fitting = known.filter(({ service }) => {
    const head = `${service}-${namespace}`;
    return name === head || name.startsWith(`${head}-`);
  });
  const [found, ...others] = fitting;
  if (found === undefined)
    return {
      verdict: "no-such-service",
      why: `'${name}' names no service that is planned in '${namespace}'`,
    };
  if (others.length === 0) return found;
  const names = fitting.slice(0, 3).map(({ service }) => `'${service}'`);
  return { verdict: "ambiguous-name", why: `'${name}' may be ${names.join(" or ")}: give a target` };
}

/** Finer sampling changes no size: agents keep to their budget whatever is asked. */
function sampled(
  proposal: Proposal,
  service: string,
  context: ProposalContext,
): Pick<CheckedProposal, "sampling" | "verdict" | "why"> {
  const { configuration, rules, time, until } = proposal;
  const seconds = configuration.sampleSeconds;
  if (rules.length > 1) return { verdict: "format", why: "'sample' stands alone" };
  if (seconds === undefined || until === undefined)
    return { verdict: "format", why: "'sample' takes sampleSeconds and until" };
  const fault = untimely(proposal, context);
  if (fault !== undefined) return said(fault);
  const [fromMs, untilMs] = [Math.max(Date.parse(time), context.nowMs), Date.parse(until)];
  if (untilMs - fromMs > MOST_SAMPLED_MS)
    return { verdict: "untimely", why: "finer sampling ends after an hour at most" };
  const why = `agents would read '${service}' every ${seconds} s until ${new Date(untilMs).toISOString()}, as far as their budget goes`;
  return { verdict: "kept", why, sampling: { seconds, fromMs, untilMs } };
}

/** As the decision found it. */
function sizeNow({ allocation, evidence }: Wish): Size {
  const { baseCpuCores: cpuCores, baseMemoryBytes: memoryBytes } = evidence;
  return {
    replicas: evidence["baseReplicas"] ?? allocation.replicas,
    ...(cpuCores !== undefined && { cpuCores }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}

const isSame = (a: Size, b: Size): boolean =>
  a.replicas === b.replicas && a.cpuCores === b.cpuCores && a.memoryBytes === b.memoryBytes;

/** The size that the rules ask for together; the later of two wins. */
function sizeThen(
  { configuration, rules, until }: Proposal,
  now: Size,
  classes: readonly NodeClass[],
): Size | Fault {
  const parts: Partial<Size>[] = [];
  for (const rule of rules) {
    if (rule === "place") return { verdict: "no-model", why: placesInWords(configuration, classes) };
    const part =
      rule === "resize" ? containerThen(configuration) : replicasThen(rule, configuration, until, now);
    if ("verdict" in part) return part;
    parts.push(part);
  }
  const last = <Key extends keyof Size>(key: Key): Size[Key] =>
    parts.findLast((part) => part[key] !== undefined)?.[key] ?? now[key];
  const [cpuCores, memoryBytes] = [last("cpuCores"), last("memoryBytes")];
  return {
    replicas: last("replicas"),
    ...(cpuCores !== undefined && { cpuCores }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}

/** What agents have read of the nodes that are asked for. */
function placesInWords({ storage }: Proposal["configuration"], classes: readonly NodeClass[]): string {
  const asked = storage?.toLowerCase();
  const fitting = classes.filter((each) => asked === undefined || each.storage === asked);
  const facts = fitting.slice(0, MOST_CLASSES).map((each) => {
    const hardware = hardwareInWords(each);
    return hardware === "" ? each.nodeClass : `${each.nodeClass} (${hardware})`;
  });
  const none =
    classes.length === 0 || asked === undefined ? "" : `; no class of nodes is known to have ${asked}`;
  const where = facts.length === 0 ? none : `; there are ${facts.join(", ")}`;
  return `no model knows what another node would do: place it by hand${where}`;
}

function containerThen({ cpu, memory }: Proposal["configuration"]): Partial<Size> | Fault {
  if (cpu === undefined && memory === undefined)
    return { verdict: "format", why: "'resize' takes cpu or memory" };
  try {
    return {
      ...(cpu !== undefined && { cpuCores: cpu }),
      ...(memory !== undefined && { memoryBytes: parseQuantity(memory) }),
    };
  } catch (error) {
    return { verdict: "format", why: error instanceof Error ? error.message : "no quantity" };
  }
}

function replicasThen(
  rule: string,
  { replicas }: Proposal["configuration"],
  until: string | undefined,
  now: Size,
): Partial<Size> | Fault {
  if (rule === CREATE_INSTANCE) return { replicas: now.replicas + 1 };
  if (rule !== "scale" && rule !== "floor" && rule !== "ceiling") return {};
  if (replicas === undefined) return { verdict: "format", why: `'${rule}' takes replicas` };
  if (rule === "scale") return { replicas };
  if (until === undefined) return { verdict: "format", why: `'${rule}' takes until` };
  return { replicas: rule === "floor" ? Math.max(replicas, now.replicas) : Math.min(replicas, now.replicas) };
}

function untimely({ time, until }: Proposal, { nowMs, plan }: ProposalContext): Fault | undefined {
  const fromMs = Date.parse(time);
  const toMs = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until);
  const verdict = "untimely";
  if (!(toMs > fromMs) || toMs <= nowMs) return { verdict, why: "it is over, or ends before it begins" };
  const oldMs = MOST_WINDOWS * 1e3 * (plan.windowSeconds ?? 15);
  if (until === undefined && fromMs < nowMs - oldMs)
    return { verdict, why: `its time is more than ${MOST_WINDOWS} windows ago` };
  if (fromMs > nowMs + MOST_AHEAD_MS) return { verdict, why: "its time is more than a day ahead" };
  return undefined;
}

function beyondBounds(
  { bounds, service }: Wish,
  now: Size,
  then: Size,
  { budgetPods, plan }: ProposalContext,
): Fault | undefined {
  const verdict = "out-of-bounds";
  const limits: readonly (readonly [
    string,
    number | undefined,
    number,
    number,
    (value: number) => string,
  ])[] = [
    ["replicas", then.replicas, bounds.minReplicas, bounds.maxReplicas, String],
    ["cores", changed(now.cpuCores, then.cpuCores), bounds.cpuMinCores, bounds.cpuMaxCores, String],
    [
      "of memory",
      changed(now.memoryBytes, then.memoryBytes),
      bounds.memoryMinBytes,
      bounds.memoryMaxBytes,
      formatMemory,
    ],
  ];
  for (const [what, value, least, most, shown] of limits)
    if (value !== undefined && !(value >= least && value <= most))
      return {
        verdict,
        why: `'${service}' has bounds of ${shown(least)} to ${shown(most)} ${what}, not ${shown(value)}`,
      };
  const others = plan.wishes
    .filter((each) => each.service !== service)
    .reduce((sum, each) => sum + sizeNow(each).replicas, 0);
  if (budgetPods !== undefined && then.replicas > now.replicas && others + then.replicas > budgetPods)
    return { verdict, why: `the budget is ${budgetPods} pods, and ${others} are used by other services` };
  return undefined;
}

/** Sizes that stay are no part of a proposal. */
const changed = (now: number | undefined, then: number | undefined): number | undefined =>
  now === then ? undefined : then;

function unsafe(
  { evidence, service }: Wish,
  now: Size,
  then: Size,
  { isMissed }: ProposalContext,
): Fault | undefined {
  const need = evidence["needReplicas"] ?? 0;
  if (then.replicas < Math.min(need, now.replicas))
    return { verdict: "below-need", why: `the CPU in use needs ${need} replicas of '${service}'` };
  const verdict = "unsafe";
  const [cpu, memory] = [ratio(now.cpuCores, then.cpuCores), ratio(now.memoryBytes, then.memoryBytes)];
  if (isMissed && (then.replicas < now.replicas || cpu < 1 || memory < 1))
    return { verdict, why: "nothing shrinks while the objective is missed" };
  const most = GROWTH_FACTOR * now.replicas + GROWTH_REPLICAS;
  if (then.replicas > most)
    return { verdict, why: `one step adds up to ${most} replicas, not ${then.replicas}` };
  if (cpu > GROWTH_FACTOR || memory > GROWTH_FACTOR)
    return { verdict, why: `one step multiplies the size of a container by ${GROWTH_FACTOR} at most` };
  return undefined;
}

/** Of a size that is not known nothing can be said to be safe. */
const ratio = (now: number | undefined, then: number | undefined): number =>
  now === then ? 1 : now === undefined || then === undefined ? Number.POSITIVE_INFINITY : then / now;

function withoutRoom(
  { service }: Wish,
  now: Size,
  then: Size,
  { plan: { room } }: ProposalContext,
): Fault | undefined {
  const takes = room?.pods.find((each) => each.service === service)?.takes;
  const more = then.replicas - now.replicas;
  if (room === undefined || takes === undefined || more <= 0) return undefined;
  for (const { left, name } of room.quotas)
    for (const amount of QUOTA_AMOUNTS) {
      const [has, needs] = [left[amount], more * (takes[amount] ?? 0)];
      if (has !== undefined && needs > has)
        return {
          verdict: "no-room",
          why: `quota '${name}' has ${has} left of ${amount}, ${more} pods take ${needs}`,
        };
    }
  return undefined;
}

/** Executed on copies of the models, at the load of now. */
function judged(
  service: string,
  now: Size,
  then: Size,
  models: WhatIf | undefined,
): Pick<CheckedProposal, "verdict" | "why" | "counterfactual"> {
  const verdict = "no-model";
  if (models?.sizeOf(service) === undefined)
    return { verdict, why: `no live model knows what '${service}' would do at another size` };
  if (then.replicas === now.replicas && then.cpuCores === now.cpuCores)
    return { verdict, why: "the models know no effect of memory on latency" };
  const { costPerHour, routes } = suppose(models, { load: 1, services: [{ service, ...then }] });
  const worst = (which: "now" | "then"): number =>
    Math.max(0, ...routes.map((each) => each[which].latencySeconds / each.objectiveSeconds));
  const [before, after] = [worst("now"), worst("then")];
  const counterfactual = {
    ratioBefore: before,
    ratioAfter: after,
    costBeforePerHour: costPerHour.now,
    costAfterPerHour: costPerHour.then,
  };
  const expected = `the models expect ${percent(after)} of the objective after it, ${percent(before)} without`;
  const holds = after <= 1 || after < before - SAME;
  return { verdict: holds ? "kept" : "model-disagrees", why: expected, counterfactual };
}
