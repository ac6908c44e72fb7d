import { isServiceName } from "@tradewind/core/contract/quantity.ts";
import { ANNOTATIONS } from "../objects/metadata.ts";
import type { Scalable } from "../objects/scalable.ts";

/** Names that a person set for a workload outside of it: the application's `services[].workload`. */
export type ConfiguredName = (workload: Pick<Scalable, "kind" | "namespace" | "name">) => string | undefined;

const OTEL_ANNOTATION = "resource.opentelemetry.io/service.name";
/** Labels that name what a pod is, from the most to the least explicit; Istio's own is what its spans are called by. */
export const NAME_LABELS = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"] as const;

/** How a workload came to its service's name, from the most to the least explicit. */
export const NAME_SOURCES = [
  "configured",
  "annotation",
  "OTEL_SERVICE_NAME",
  "OTEL_RESOURCE_ATTRIBUTES",
  "opentelemetry-annotation",
  "label",
  "workload",
] as const;
export type NameSource = (typeof NAME_SOURCES)[number];

export interface ServiceNaming {
  readonly service: string;
  readonly source: NameSource;
}

/**
 * The name under which each workload appears in traces, by the workload's uid. The first of these counts: the
 * application's own mapping; the annotation `tradewind.dev/service`; `OTEL_SERVICE_NAME`; `service.name` in
 * `OTEL_RESOURCE_ATTRIBUTES`; the OpenTelemetry operator's annotation; the label `service.istio.io/canonical-name` or
 * `app.kubernetes.io/name`, or `app` of a workload called `APP-VERSION`, where no other workload of the namespace carries the
 * same (charts like to give one to all their parts); the workload's own name.
 */
export function serviceNames(
  workloads: readonly Scalable[],
  configured: ConfiguredName,
): ReadonlyMap<string, ServiceNaming> {
  const labelled = new Map<string, number>();
  const labelOf = ({ name, namespace, podLabels, labels }: Scalable): string | undefined => {
    const [canonical, own, app] = NAME_LABELS.map((label) => podLabels[label] ?? labels[label]);
    const version = app !== undefined && isVersionOf(name, app, podLabels) ? app : undefined;
    const value = canonical ?? own ?? version;
    return value === undefined ? undefined : `${namespace}/${value}`;
  };
  for (const workload of workloads) {
    const label = labelOf(workload);
    if (label !== undefined) labelled.set(label, (labelled.get(label) ?? 0) + 1);
  }
  return new Map(
    workloads.map((workload) => {
      const label = labelOf(workload);
      const isOwn = label !== undefined && labelled.get(label) === 1;
      const ownLabel = isOwn ? label.slice(workload.namespace.length + 1) : undefined;
      return [workload.uid, nameOf(workload, configured(workload), ownLabel)];
    }),
  );
}

const VERSION = /^v\d{1,9}$/;

/** Whether a workload's name is a service's with a version behind it: `reviews-v2`, or `reviews-blue` where the label `version` says `blue`. */
export function isVersionOf(
  workload: string,
  service: string,
  { version }: Readonly<Record<string, string>>,
): boolean {
  if (!workload.startsWith(`${service}-`)) return false;
  const rest = workload.slice(service.length + 1);
  return rest === version || VERSION.test(rest);
}

function nameOf(
  workload: Scalable,
  configured: string | undefined,
  label: string | undefined,
): ServiceNaming {
  const candidates: Readonly<Record<NameSource, string | undefined>> = {
    configured,
    annotation: workload.annotations[ANNOTATIONS.service],
    OTEL_SERVICE_NAME: variable(workload, "OTEL_SERVICE_NAME", (value) => value),
    OTEL_RESOURCE_ATTRIBUTES: variable(workload, "OTEL_RESOURCE_ATTRIBUTES", serviceAttribute),
    "opentelemetry-annotation": workload.annotations[OTEL_ANNOTATION],
    label,
    workload: workload.name,
  };
  for (const source of NAME_SOURCES) {
    const service = candidates[source]?.trim();
    if (service !== undefined && isServiceName(service)) return { service, source };
  }
  return { service: workload.name, source: "workload" };
}

/** The first container that gives the variable a value that can be known from the template. */
function variable(
  workload: Scalable,
  name: string,
  read: (value: string) => string | undefined,
): string | undefined {
  for (const { env } of workload.containers) {
    const value = env.find((each) => each.name === name)?.value;
    const service = value === undefined ? undefined : read(value);
    if (service !== undefined && service !== "") return service;
  }
  return undefined;
}

/** `service.name` in `key=value,key=value`; values may be percent-encoded (OpenTelemetry's resource SDK). */
function serviceAttribute(text: string): string | undefined {
  for (const pair of text.split(",")) {
    const [key, ...rest] = pair.split("=");
    if (key?.trim() !== "service.name") continue;
    const value = rest.join("=").trim();
    try {
      return decodeURIComponent(value);
    } catch {
      return value;
    }
  }
  return undefined;
}
