import { setTimeout as wait } from "node:timers/promises";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { startOtlpGrpcReceiver } from "../../sources/otlp/grpc-receiver.ts";
import { startOtlpReceiver } from "../../sources/otlp/receiver.ts";
import type { OtlpReceiver } from "../../sources/otlp/receiver.ts";
import type { ReceiverMetrics } from "../../sources/otlp/metrics.ts";
import type { RefusalReason } from "../../sources/otlp/refusal.ts";
import type { Finding } from "../../sources/source.ts";
import { collectorConfig } from "./collector-config.ts";
import { heardFindings } from "./heard-findings.ts";
import { HeardTraffic } from "./heard-traffic.ts";
import type { NamedWorkload } from "./name-mapping.ts";
import type { DoctorOptions } from "./options.ts";

export interface Heard {
  readonly findings: readonly Finding[];
  /** YAML. */
  readonly collector: string;
}

export interface ListenParts {
  readonly application: Application | undefined;
  readonly workloads: readonly NamedWorkload[] | undefined;
  /** Told where it listens. */
  readonly onListening: (endpoints: readonly string[]) => void;
}

/** Receives what is sent as the predictor would, and takes nothing of it but counts and names. Never throws. */
export async function listen(options: DoctorOptions, parts: ListenParts): Promise<Heard> {
  const { graceSeconds, listenSeconds: seconds = 0, otlpGrpcListen, otlpListen } = options;
  const { application, onListening, workloads } = parts;
  const heard = new HeardTraffic();
  const refused = new Map<RefusalReason, number>();
  let logBytes = 0;
  const metrics: ReceiverMetrics = {
    request: () => undefined,
    refused: (_, reason) => void refused.set(reason, (refused.get(reason) ?? 0) + 1),
    spans: () => undefined,
    durations: () => undefined,
    logs: (bytes) => void (logBytes += bytes),
    bytes: () => undefined,
    connections: () => undefined,
  };
  const common = {
    metrics,
    onSpans: (batch, sender) => {
      heard.addSpans(batch, sender, systemClock.nowMs());
      return { accepted: batch.length, rejected: 0, reasons: {} };
    },
    onDurations: (points, sender) => {
      heard.addDurations(points, sender);
      return { accepted: points.length, rejected: 0, reasons: {} };
    },
  } satisfies Partial<Parameters<typeof startOtlpReceiver>[0]>;
  const receivers: OtlpReceiver[] = [];
  try {
    receivers.push(await startOtlpReceiver({ listen: otlpListen, ...common }));
    receivers.push(await startOtlpGrpcReceiver({ listen: otlpGrpcListen, ...common }));
    const endpoints = receivers.map(({ address }) => address);
    onListening(endpoints);
    await wait(1e3 * seconds);
    const { entry, namespace } = application ?? {};
    const findings = heardFindings(heard, { namespace, entry, workloads, graceSeconds, seconds, endpoints });
    const target = { endpoint: endpoints[1] ?? otlpGrpcListen, namespace };
    return {
      findings: [...findings, ...refusals(refused), ...logs(logBytes)],
      collector: collectorConfig(heard, target),
    };
  } catch (error) {
    const remedy =
      "choose other addresses with --otlp-listen and --otlp-grpc-listen; a predictor here has these already";
    const finding: Finding = { subject: "listen", level: "problem", message: describeError(error), remedy };
    return { findings: [finding], collector: "" };
  } finally {
    for (const receiver of receivers) await receiver.stop();
  }
}

function refusals(refused: ReadonlyMap<RefusalReason, number>): Finding[] {
  return [...refused].map(([reason, count]) => ({
    subject: "requests",
    level: "problem",
    message: `${count} requests were refused: ${reason}`,
    remedy: "the sender's log has the reason in full",
  }));
}

function logs(bytes: number): Finding[] {
  if (bytes === 0) return [];
  return [
    { subject: "logs", level: "ok", message: `${bytes} bytes of logs came: they are taken and discarded` },
  ];
}
