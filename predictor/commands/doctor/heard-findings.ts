import { percent } from "@tradewind/core/values/amounts.ts";
import type { Finding } from "../../sources/source.ts";
import type { HeardService, HeardTraffic } from "./heard-traffic.ts";
import { proposeMapping } from "./name-mapping.ts";
import type { NamedWorkload } from "./name-mapping.ts";

/** What the configuration and the cluster say of the services that are heard. */
export interface Expected {
  /** Of the application; undefined without one. */
  readonly namespace: string | undefined;
  readonly entry: string | undefined;
  /** Undefined where nobody said what runs. */
  readonly workloads: readonly NamedWorkload[] | undefined;
  /** How long after a window spans are waited for. */
  readonly graceSeconds: number;
  readonly seconds: number;
  /** Where spans are received, for a sender's configuration. */
  readonly endpoints: readonly string[];
}

const MOST_NAMED = 5;
const AHEAD_SECONDS = 1;
/** Fewer say nothing of when most of them come. */
const LEAST_DELAYS = 20;

/** What was heard, in findings: who sends, what comes late, what is sampled, and which names fit no workload. */
export function heardFindings(heard: HeardTraffic, expected: Expected): Finding[] {
  const { endpoints, seconds } = expected;
  if (heard.senders.size === 0) {
    return [
      {
        subject: "senders",
        level: "problem",
        message: `nothing came within ${seconds} s`,
        remedy: `send OTLP or Zipkin to ${endpoints.join(" or ")}, and listen while there is traffic`,
      },
    ];
  }
  const services = [...heard.services.values()];
  return [
    ...senders(heard),
    ...families(services, expected),
    ...unnamed(heard),
    ...services.filter(({ name }) => name !== "").flatMap((service) => ofService(service, expected)),
    ...silent(heard, expected),
  ];
}

function senders(heard: HeardTraffic): Finding[] {
  return [...heard.senders.values()].map(({ address, durations, services, spans }) => ({
    subject: `sender ${address}`,
    level: "ok",
    message: `${spans} spans and ${durations} histograms of durations, of ${some([...services], "service")}`,
  }));
}

/** How many of the services each kind of telemetry tells of. */
function families(services: readonly HeardService[], { workloads }: Expected): Finding[] {
  const wanted = new Set(workloads?.map(({ service }) => service) ?? services.map(({ name }) => name));
  const count = (tells: (service: HeardService) => boolean): number =>
    services.filter((service) => wanted.has(service.name) && tells(service)).length;
  const [spans, durations] = [count((each) => each.spans > 0), count((each) => each.durations > 0)];
  const message = `spans tell of ${spans} of ${wanted.size} services, pushed histograms of durations of ${durations}`;
  if (spans + durations > 0) return [{ subject: "families", level: "ok", message }];
  const remedy = "see below which workloads the names may belong to";
  return [{ subject: "families", level: "problem", message, remedy }];
}

function unnamed({ invalidIds, services }: HeardTraffic): Finding[] {
  const nameless = services.get("");
  return [
    ...(nameless === undefined
      ? []
      : [
          {
            subject: "names",
            level: "problem" as const,
            message: `${nameless.spans} spans name no service, from ${some([...nameless.instances], "instance")}`,
            remedy: "set OTEL_SERVICE_NAME in the programs that send them",
          },
        ]),
    ...(invalidIds === 0
      ? []
      : [
          {
            subject: "ids",
            level: "problem" as const,
            message: `${invalidIds} spans have ids of zero or of the wrong length`,
            remedy: "look at what writes them: they are refused",
          },
        ]),
  ];
}

function ofService(service: HeardService, expected: Expected): Finding[] {
  const subject = `service ${service.name}`;
  return [
    ...delay(service, expected, subject),
    ...sampling(service, subject),
    ...foreign(service, expected, subject),
    ...mapping(service, expected, subject),
  ];
}

function delay({ aheadMs, delays }: HeardService, { graceSeconds }: Expected, subject: string): Finding[] {
  const lateSeconds = delays.quantileNs(0.99) / 1e9;
  const findings: Finding[] = [];
  if (delays.count >= LEAST_DELAYS) {
    const message = `99 % of its spans come within ${lateSeconds.toFixed(1)} s of their end`;
    const remedy = `--grace ${Math.ceil(lateSeconds + 1)}s on the predictor, or a shorter batch in SDK and Collector`;
    findings.push(
      lateSeconds > graceSeconds
        ? { subject, level: "warning", message: `${message}, ${graceSeconds} s are waited`, remedy }
        : { subject, level: "ok", message },
    );
  }
  if (aheadMs > 1e3 * AHEAD_SECONDS) {
    const message = `its clock is ahead of this machine's by ${(aheadMs / 1e3).toFixed(1)} s or more`;
    findings.push({ subject, level: "warning", message, remedy: "run NTP on its nodes" });
  }
  return findings;
}

function sampling({ sampled, spans, weight }: HeardService, subject: string): Finding[] {
  if (spans === 0) return [];
  if (sampled === 0) {
    const message = "its spans do not say whether they are a sample: each counts for one request";
    return [{ subject, level: "ok", message }];
  }
  const message = `${percent(sampled / spans)} of its spans say how they were sampled: each stands for ${(weight / sampled).toFixed(1)} requests`;
  if (sampled === spans) return [{ subject, level: "ok", message }];
  const remedy = "sample in one place, by a sampler that writes `ot=th:` into the trace state";
  return [{ subject, level: "warning", message: `${message}; the others count for one`, remedy }];
}

function foreign({ namespaces }: HeardService, { namespace }: Expected, subject: string): Finding[] {
  const others = [...namespaces].filter((each) => namespace !== undefined && each !== namespace);
  if (others.length === 0) return [];
  const message = `its spans name the namespace ${others.slice(0, MOST_NAMED).join(", ")}, the application is in ${namespace ?? ""}`;
  return [
    {
      subject,
      level: "warning",
      message,
      remedy: "send the spans of each namespace to its own predictor, or plan both",
    },
  ];
}

function mapping({ instances, name }: HeardService, { workloads }: Expected, subject: string): Finding[] {
  if (workloads === undefined || workloads.some(({ service }) => service === name)) return [];
  const proposed = proposeMapping(name, instances, workloads);
  const message = "no workload has its name: it is planned by nobody";
  if (proposed === undefined) {
    const remedy = `name its workload: services: [{ name: ${quoted(name)}, workload: { kind: Deployment, name: … } }]`;
    return [{ subject, level: "warning", message, remedy }];
  }
  const { evidence, workload } = proposed;
  const why =
    evidence === "pod" ? `its spans come from pods of ${workload.name}` : `${workload.name} is named alike`;
  const entry = `{ name: ${quoted(name)}, workload: { kind: ${workload.kind}, name: ${workload.name} } }`;
  const remedy = `write into the application: services: [${entry}]`;
  return [{ subject, level: "warning", message: `${message}; ${why}`, remedy }];
}

/** Workloads of which nothing was heard, under whatever name. */
function silent({ services }: HeardTraffic, { workloads = [] }: Expected): Finding[] {
  const proposed = new Set(
    [...services.values()].map(({ instances, name }) => proposeMapping(name, instances, workloads)?.workload),
  );
  const unheard = workloads.filter((workload) => !services.has(workload.service) && !proposed.has(workload));
  if (unheard.length === 0) return [];
  const names = unheard.map(({ name }) => name);
  const message = `nothing was heard of ${some(names, "workload")}`;
  const remedy =
    "without spans or metrics they are planned by their CPU use alone: instrument them, or leave them out";
  return [{ subject: "workloads", level: "warning", message, remedy }];
}

const quoted = (text: string): string =>
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) ? text : JSON.stringify(text);

/** `3 services (a, b, c)`. */
function some(names: readonly string[], what: string): string {
  const named = names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ", …" : "");
  return `${names.length} ${what}${names.length === 1 ? "" : "s"}${names.length === 0 ? "" : ` (${named})`}`;
}
