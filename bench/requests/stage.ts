import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { NodeRoom } from "@tradewind/predictor/nodes/node-room.ts";
import { PlannedApplication } from "@tradewind/predictor/run/application/planned-application.ts";
import { Gathering } from "@tradewind/predictor/run/application/gathering.ts";
import { PredictorMetrics } from "@tradewind/predictor/run/process/metrics.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { Admission } from "@tradewind/predictor/sources/otlp/admission.ts";
import { BodyWork } from "@tradewind/predictor/sources/otlp/body-work.ts";
import { DEFAULT_RECEIVER_LIMITS } from "@tradewind/predictor/sources/otlp/limits.ts";
import { JSON_TYPE, PROTOBUF, ZIPKIN_JSON } from "@tradewind/predictor/sources/otlp/responses.ts";
import { SpanIntake } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import type { SpanForm } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import type { Sections } from "@tradewind/predictor/sources/sources-config.ts";
import { jsonRequest, protobufRequest } from "../../test/predictor/sources/otlp/messages.ts";
import { podName } from "./traffic.ts";
import type { SentSpan } from "./traffic.ts";

/** An application and the predictor that watches it. */
export interface Setting {
  readonly entry: string;
  readonly services: readonly string[];
  readonly windowSeconds?: number | undefined;
  /** Absent: learnt from the spans, as where nobody sets it. */
  readonly graceSeconds?: number | undefined;
  readonly objectiveMs?: number | undefined;
  readonly sources?: Sections["sources"] | undefined;
  /** URL paths that kubelets ask each service for. */
  readonly probePaths?: readonly string[];
  readonly form?: SpanForm | undefined;
}

/** What the predictor said. */
export interface Played {
  readonly sets: readonly WindowSet[];
  readonly plans: readonly Plan[];
  /** Spans that were not taken, by reason, as their senders were told. */
  readonly refused: Readonly<Record<string, number>>;
}

const PODS = 2;
const CORES_USED = 0.2;
const TICK_MS = 500;
/** As the predictor has them by default. */
const GRACE_SECONDS = 5;
const MAX_GRACE_SECONDS = 60;

/** Sends spans to one application's predictor, in process and by a clock that nobody waits for. */
export async function play(
  setting: Setting,
  spans: readonly SentSpan[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<Played> {
  const { entry, form = JSON_TYPE, objectiveMs = 1_000, services, windowSeconds = 15 } = setting;
  const time = { nowMs: fromMs };
  const clock = { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs - fromMs };
  const log = createLog("bench", "silent");
  const sections = await readSections(undefined);
  const sources = setting.sources ?? sections.sources;
  const ownSeconds = setting.graceSeconds ?? Math.min(GRACE_SECONDS, windowSeconds / 3);
  const graceSeconds = Gathering.graceSeconds(sources, ownSeconds);
  const isLearnt = setting.graceSeconds === undefined;
  const maxGraceSeconds = isLearnt ? Math.max(graceSeconds, MAX_GRACE_SECONDS) : graceSeconds;
  const options = {
    ...PredictorOptions.parse({ config: "none", windowSeconds }),
    graceSeconds,
    maxGraceSeconds,
  };
  const application = parseApplication(
    { name: "shop", namespace: "shop", entry, objective: { milliseconds: objectiveMs }, mode: "act" },
    "the application",
  );
  const workloads = workloadsOf(setting, fromMs);
  const planned = await PlannedApplication.open(
    {
      options,
      sections: { ...sections, sources },
      rates: { over: () => new Map(usesOf(services)) },
      workloadProblem: () => undefined,
      nodes: new NodeRoom(),
      metrics: new PredictorMetrics(),
      webhook: undefined,
      reasoner: undefined,
      clock,
      log,
      several: false,
    },
    { application, current: () => application, workloads: () => workloads, directory: undefined },
  );
  await planned.begin(async () => Promise.resolve([]));
  const limits = DEFAULT_RECEIVER_LIMITS;
  const admission = new Admission(limits, clock);
  const work = new BodyWork({ clock, limits, admission });
  const intake = new SpanIntake({ clock, limits, work, onSpans: (batch) => planned.take(batch) });
  const played = { sets: [] as WindowSet[], plans: [] as Plan[], refused: {} as Record<string, number> };
  const lengthMs = 1e3 * windowSeconds;
  let endMs = Math.ceil(fromMs / lengthMs) * lengthMs + lengthMs;
  let sent = 0;
  const sorted = spans.toSorted((a, b) => a.arrivesMs - b.arrivesMs);
  try {
    for (; endMs <= toMs; time.nowMs += TICK_MS) {
      const begin = sent;
      while ((sorted[sent]?.arrivesMs ?? Infinity) <= time.nowMs) sent += 1;
      for (const bytes of bodiesOf(sorted.slice(begin, sent), form)) {
        const call = admission.admit("10.1.2.3");
        const body = { bytes, compression: "none", maxBytes: limits.maxBodyBytes, form } as const;
        const { reasons } = await intake.take(body, call);
        call.end();
        for (const [reason, count] of Object.entries(reasons))
          played.refused[reason] = (played.refused[reason] ?? 0) + (count ?? 0);
      }
      for (; endMs <= toMs && time.nowMs >= endMs + 1e3 * planned.graceSeconds; endMs += lengthMs) {
        const interval = { startMs: endMs - lengthMs, endMs };
        const monotonic = { fromMs: interval.startMs - fromMs, toMs: endMs - fromMs };
        const window = { ...interval, ...monotonic, era: 0, repeated: false, stoodStillMs: 0 };
        await planned.decide(window, await planned.gather(interval), [], () => true);
        const [set, plan] = [planned.published.windows(), planned.published.plan()];
        if (set === undefined || plan === undefined) throw new Error("the predictor made no plan");
        played.sets.push(set);
        played.plans.push(plan);
      }
    }
  } finally {
    await planned.stop();
  }
  return played;
}

/** One body for each process, as exporters send. */
function bodiesOf(spans: readonly SentSpan[], form: SpanForm): Uint8Array[] {
  const byResource = Map.groupBy(spans, ({ resource }) => JSON.stringify(resource));
  return [...byResource.values()].map((own) => {
    const resource = own[0]?.resource ?? {};
    if (form === PROTOBUF) return protobufRequest(own, resource);
    if (form === ZIPKIN_JSON) return Buffer.from(JSON.stringify(own.map(zipkinSpan)));
    return Buffer.from(JSON.stringify(jsonRequest(own, resource)));
  });
}

const ZIPKIN_KINDS = [undefined, undefined, "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];

function zipkinSpan(span: SentSpan): Record<string, unknown> {
  const { "service.name": serviceName, ...tags } = span.resource;
  return {
    traceId: span.traceId,
    id: span.spanId,
    parentId: span.parentId,
    name: span.name,
    kind: ZIPKIN_KINDS[span.kind ?? 0],
    timestamp: Math.round(span.startMs * 1e3),
    duration: Math.max(1, Math.round((span.endMs - span.startMs) * 1e3)),
    localEndpoint: { serviceName, ipv4: "10.1.2.3" },
    tags: { ...tags, ...span.attributes, ...(span.statusCode === 2 && { error: "failed" }) },
  };
}

function* usesOf(services: readonly string[]) {
  for (const service of services)
    for (let pod = 0; pod < PODS; pod += 1)
      yield [podName(service, pod), { node: "node-1", cpuUsageCores: CORES_USED, cpuLimitCores: 1 }] as const;
}

function workloadsOf({ probePaths, services }: Setting, nowMs: number): WorkloadList {
  const startedAtMs = nowMs - 600_000;
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: nowMs,
    workloads: services.map((service) => ({
      namespace: "shop",
      kind: "Deployment",
      name: service,
      service,
      replicasWanted: PODS,
      replicasReady: PODS,
      minReplicas: 1,
      maxReplicas: 20,
      ...(probePaths && { probePaths: [...probePaths] }),
      pods: Array.from({ length: PODS }, (_, pod) => ({
        uid: `uid-${podName(service, pod)}`,
        name: podName(service, pod),
        node: "node-1",
        ready: true,
        startedAtMs,
        createdAtMs: startedAtMs,
        readyAtMs: startedAtMs,
        containers: [
          {
            id: podName(service, pod),
            name: service,
            startedAtMs,
            cpuRequestCores: 1,
            cpuLimitCores: 1,
            memoryRequestBytes: 512e6,
            memoryLimitBytes: 512e6,
          },
        ],
      })),
    })),
  };
}
