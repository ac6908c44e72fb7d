import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { PlanHeader } from "../decide.ts";

/** What the exporter allows services that no configuration of its own names, and how far one decision may go. */
export interface LimitSettings extends Pick<GuardLimits, "growRatio" | "growReplicas" | "shrinkRatio"> {
  readonly maxReplicas: number;
  readonly scaleToZero: boolean;
}

/**
 * Gives the limits of a service from what the exporter itself knows: the application's configuration where the plan is of
 * that application, else the settings. Nothing of the plan is believed but its name.
 * @param application finds an application by its namespace and name
 */
export function limitsBy(
  settings: LimitSettings,
  application: (namespace: string, name: string) => Application | undefined,
): (plan: PlanHeader, wish: Pick<Wish, "namespace" | "service">) => GuardLimits {
  const { growRatio, growReplicas, maxReplicas, scaleToZero, shrinkRatio } = settings;
  const change = { growRatio, growReplicas, shrinkRatio };
  const unknown: GuardLimits = {
    source: "settings",
    minReplicas: scaleToZero ? 0 : 1,
    maxReplicas,
    ...change,
  };
  const limitsIn = rememberLast((of: Application) => {
    const specOf = serviceSpecs(of);
    return (service: string): GuardLimits => ({ ...ofSpec(specOf(service)), ...change });
  });
  return (plan, { namespace, service }) => {
    const own = application(namespace, plan.application);
    const isOfPlan = own?.name === plan.application && own.namespace === namespace;
    return isOfPlan ? limitsIn(own)(service) : unknown;
  };
}

function ofSpec({ cpu, maxReplicas, memory, minReplicas }: ServiceSpec) {
  const container = {
    cpuMinCores: cpu.minCores,
    cpuMaxCores: cpu.maxCores,
    cpuStepCores: cpu.stepCores,
    memoryMinBytes: memory.minBytes,
    memoryMaxBytes: memory.maxBytes,
    memoryStepBytes: memory.stepBytes,
  };
  return { source: "application" as const, minReplicas, maxReplicas, container };
}

function rememberLast<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  let last: { readonly key: Key; readonly value: Value } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, value: make(key) };
    return last.value;
  };
}
