import type { Allocation, Wish } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { inWords } from "@tradewind/core/contract/reasons.ts";
import { boundsOf } from "../decide/guard/baseline.ts";
import { mostReplicas, neededReplicas, SILENT_UTILISATION, studentAllocation } from "./allocate.ts";
import type { Silence } from "./allocate.ts";
import { asList, podCores, studentInputs } from "@tradewind/core/students/inputs.ts";
import type { LoadPoint, PlannedService, StudentInputs } from "@tradewind/core/students/inputs.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import type { Student, StudentActions } from "@tradewind/core/students/student.ts";

/** A student, and the name of the model that it is of. */
export interface NamedStudent {
  readonly student: Student;
  readonly modelHash: string;
}

/** One service at one moment of a silence. Times are on our monotonic clock. */
export interface SilentService {
  /** The decision in force, and when it was decided. */
  readonly record: DecisionRecord;
  readonly decidedMs: number;
  readonly reading: ServiceReading;
  /** Load of this silence until now, the earliest first. */
  readonly earlier: readonly LoadPoint[];
  /** Absent: the reactive need decides alone. */
  readonly student: NamedStudent | undefined;
  readonly nowMs: number;
}

/** What a reading may be old for a decision to be made of it. s */
export const OLDEST_READING_SECONDS = 30;

/** What the last plan said of the service, whatever was decided since: each decision of a silence carries it on. */
export function plannedOf({
  decidedMs,
  record,
}: Pick<SilentService, "record" | "decidedMs">): PlannedService & {
  /** When that was decided. ms */
  readonly decidedMs: number;
} {
  const { evidence, inputs } = record.wish;
  const offsetMs = decidedMs - record.decidedAtMs;
  const { plannedAtMs = record.decidedAtMs, plannedWindowEndMs = inputs.windowEndMs } = evidence;
  const used = product(evidence["cpuSecondsPerRequest"], evidence["requestsPerSecond"]);
  return {
    allocation: plannedAllocation(record),
    decidedMs: plannedAtMs + offsetMs,
    atMs: plannedWindowEndMs + offsetMs,
    usedCores: used,
    cpuCores: evidence["cpuPodCapacityCores"] ?? record.wish.observed.cpuCores,
    memoryBytes: record.wish.observed.memoryBytes,
  };
}

function plannedAllocation({ final, wish: { evidence } }: DecisionRecord): Allocation {
  const { plannedCpuCores, plannedMemoryBytes, plannedReplicas } = evidence;
  if (plannedReplicas === undefined) return final;
  return {
    replicas: plannedReplicas,
    ...(plannedCpuCores !== undefined && { cpuCores: plannedCpuCores }),
    ...(plannedMemoryBytes !== undefined && { memoryBytes: plannedMemoryBytes }),
  };
}

const product = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a * b;

/**
 * Decides on one service while no predictor answers: by its student, never below the reactive need, never below the last decision of
 * the planner. Undefined where what is known is too old or too little: then the decision in force stays until its time is up.
 */
export function decideService(service: SilentService): Wish | undefined {
  const { earlier, nowMs, reading, record, student } = service;
  const { limits } = record.context;
  if (limits === undefined || (record.context.mode ?? "act") !== "act") return undefined;
  if (isUnusable(service)) return undefined;
  const planned = plannedOf(service);
  const cores = podCores(reading, planned);
  if (cores === undefined) return undefined;
  const bounds = boundsOf({ ...record.context, wish: record.wish, decidedAtMs: record.decidedAtMs });
  const { cpuCores, memoryBytes, pods } = reading;
  const use = { cores: cpuCores, podCores: cores, pods, memoryBytes };
  const silence: Silence = {
    planned: planned.allocation,
    current: record.final,
    bounds,
    limits,
    use,
  };
  const inputs = student && studentInputs(reading, planned, record.final.replicas, earlier);
  const actions = inputs && usable(student?.student.act(asList(inputs)));
  const need = neededReplicas(use, SILENT_UTILISATION.reactive);
  if (!Number.isFinite(need)) return undefined;
  const asked = actions === undefined ? record.final : studentAllocation(actions, silence);
  const most = mostReplicas(silence);
  const needReplicas = Math.min(need, most);
  const allocation: Allocation = {
    ...record.final,
    ...asked,
    replicas: Math.max(asked.replicas, needReplicas),
  };
  const reasons: Reason[] = [
    { code: "predictor-silent", silentSeconds: Math.max(0, nowMs - planned.decidedMs) / 1e3 },
    ...(inputs && actions && student ? [studentReason(student, inputs)] : []),
    ...(actions === undefined || need > asked.replicas
      ? [demandReason(reading.cpuCores, reading.pods * cores)]
      : []),
    ...(need > most ? [limitReason(silence.planned.replicas, most)] : []),
    { code: "replicas", fromReplicas: record.final.replicas, toReplicas: allocation.replicas },
  ];
  const list = inputs && asList(inputs);
  return wishOf(service, { actions, allocation, inputs: list, needReplicas, planned, reasons });
}

const studentReason = ({ modelHash }: NamedStudent, { forecastRatio, loadRatio }: StudentInputs): Reason => ({
  code: "student",
  modelHash,
  loadRatio,
  forecastRatio,
});

const demandReason = (usedCores: number, capacityCores: number): Reason => ({
  code: "cpu-demand",
  cpuRatio: usedCores / capacityCores,
  targetRatio: SILENT_UTILISATION.reactive,
});

const limitReason = (plannedReplicas: number, most: number): Reason => ({
  code: "silence-limit",
  plannedReplicas,
  mostReplicas: most,
});

/** Why nothing is decided: what is known is too old, or of no use. */
function isUnusable({ nowMs, reading }: SilentService): boolean {
  if (nowMs - reading.atMs > 1e3 * OLDEST_READING_SECONDS || reading.pods <= 0) return true;
  return !Number.isFinite(reading.cpuCores) || reading.cpuCores < 0;
}

/** Undefined where a weight of the student is of no use. */
const usable = (actions: StudentActions | undefined): StudentActions | undefined =>
  actions !== undefined && Object.values(actions).every((action) => Number.isFinite(action))
    ? actions
    : undefined;

interface SilentNeed {
  readonly allocation: Allocation;
  /** Replicas that the CPU in use needs, as far as a silence may go. Neither an approval nor a soft ceiling stops growth up to it. */
  readonly needReplicas: number;
  readonly planned: ReturnType<typeof plannedOf>;
  readonly inputs: readonly number[] | undefined;
  readonly actions: StudentActions | undefined;
  readonly reasons: readonly Reason[];
}

const MOST_CHARACTERS = 500;

function wishOf({ decidedMs, nowMs, reading, record, student }: SilentService, asked: SilentNeed): Wish {
  const { allocation, planned, reasons } = asked;
  const { wish } = record;
  const offsetMs = record.decidedAtMs - decidedMs;
  const evidence = evidenceOf(asked, { reading, wish, offsetMs, nowMs });
  const readAtMs = Math.max(0, Math.round(reading.atMs + offsetMs));
  return {
    namespace: wish.namespace,
    service: wish.service,
    allocation,
    policy: asked.actions === undefined ? "reactive" : "students",
    reason: inWords(reasons, MOST_CHARACTERS),
    reasons: [...reasons],
    // The measured share of the pods, as where CPU alone decides.
    confidence: Math.min(1, reading.pods / Math.max(1, record.final.replicas)),
    evidence,
    inputs: {
      windowHash: contentHash({ evidence, readAtMs }),
      windowEndMs: readAtMs,
      ...(asked.actions !== undefined && student && { modelHash: student.modelHash }),
    },
    observed: {
      replicasReady: reading.pods,
      ...(wish.observed.lastStartedAtMs !== undefined && { lastStartedAtMs: wish.observed.lastStartedAtMs }),
      ...(planned.cpuCores !== undefined && { cpuCores: planned.cpuCores }),
      ...(planned.memoryBytes !== undefined && { memoryBytes: planned.memoryBytes }),
      complete: true,
    },
    bounds: wish.bounds,
    ...(wish.workloads && { workloads: wish.workloads }),
  };
}

/** The numbers that decided, and what the next decision of the silence needs to know of the plan. */
function evidenceOf(
  { actions, inputs = [], needReplicas, planned }: SilentNeed,
  {
    nowMs,
    offsetMs,
    reading,
    wish,
  }: { reading: ServiceReading; wish: Wish; offsetMs: number; nowMs: number },
): Record<string, number> {
  const { cpuPodCapacityCores, cpuSecondsPerRequest, memoryPeakBytes, requestsPerSecond } = wish.evidence;
  const [cpuInput, memoryInput, replicaInput, loadInput, forecastInput] = inputs;
  const { cpuCores, memoryBytes, replicas } = planned.allocation;
  const numbers: Record<string, number | undefined> = {
    cpuPodCapacityCores,
    cpuSecondsPerRequest,
    requestsPerSecond,
    needReplicas,
    memoryPeakBytes: highest(memoryPeakBytes, reading.memoryBytes),
    plannedReplicas: replicas,
    plannedCpuCores: cpuCores,
    plannedMemoryBytes: memoryBytes,
    plannedAtMs: Math.max(0, planned.decidedMs + offsetMs),
    plannedWindowEndMs: Math.max(0, planned.atMs + offsetMs),
    readPods: reading.pods,
    readCpuCores: reading.cpuCores,
    readThrottledRatio: reading.throttledRatio,
    readMemoryBytes: reading.memoryBytes,
    inputAgeSeconds: (nowMs - reading.atMs) / 1e3,
    cpuInput,
    memoryInput,
    replicaInput,
    loadInput,
    forecastInput,
    cpuAction: actions?.cpu,
    memoryAction: actions?.memory,
    replicaAction: actions?.replicas,
  };
  return Object.fromEntries(
    Object.entries(numbers).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );
}

/** The mean of the pods is a peak where it lies above the highest one so far. */
const highest = (peakBytes: number | undefined, meanBytes = 0): number | undefined =>
  Number.isFinite(meanBytes) && meanBytes > (peakBytes ?? 0) ? meanBytes : peakBytes;
