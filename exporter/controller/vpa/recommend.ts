import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import type { ContainerPolicy, VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { keepingClass } from "../sizing/quality-of-service.ts";
import { containerSize, requestedSize, requestFor } from "../sizing/container-size.ts";
import { RESOURCE_NAMES, SIZED } from "../sizing/size-history.ts";
import type { ContainerSize, SizedResource } from "../sizing/size-history.ts";
import { capped, steer } from "./steer.ts";
import type { Steering } from "./steer.ts";

export interface VpaInputs {
  readonly vpa: VerticalPodAutoscaler;
  readonly workload: string;
  readonly pods: readonly Pod[];
  /** Recommended sizes, settled; absent resources are left alone. */
  readonly settled: ContainerSize;
  /** Recommended sizes as decided, for display. */
  readonly decided: ContainerSize;
  /** Resources that an HPA holds against their request. */
  readonly scalePoints: readonly ("cpu" | "memory")[];
  /** Resources that the decision does not count on: they are shown, and running pods stay as they are. */
  readonly advised: readonly ("cpu" | "memory")[];
  /** Advice that differs by more than this share from what runs is shown and not applied, since a person decides; absent: all is applied. */
  readonly approvalRatio?: number | undefined;
  /** Whether running pods shall be changed, or only new ones. */
  readonly act: boolean;
}

/** What is recommended for one container, by resource. */
export interface ContainerAdvice {
  readonly containerName: string;
  readonly resources: Readonly<Partial<Record<SizedResource, Steering & { readonly uncapped: number }>>>;
}

export type VpaAdvice =
  | { readonly container: ContainerAdvice; readonly withheld?: never }
  | { readonly withheld: { readonly reason: string; readonly message: string }; readonly container?: never };

/** The recommendation for the workload's main container, or why there is none. Other containers are left alone. */
export function advise(inputs: VpaInputs): VpaAdvice {
  const { pods, vpa, workload } = inputs;
  const pod = pods.find(({ isReady }) => isReady) ?? pods[0];
  const container = pod && mainContainer(pod, workload);
  if (pod === undefined || container === undefined) {
    return withheld("NoPodsMatched", `no pod of ${workload} runs`);
  }
  const policy = policyOf(vpa, container.name);
  if (policy?.mode === "Off") return withheld("ContainerOff", `container ${container.name} has mode Off`);
  const limitsFollow = doLimitsFollow(policy);
  // Where nothing is ever applied the class cannot change.
  const kept =
    vpa.updateMode === "Off"
      ? { size: inputs.settled }
      : keepingClass(pod, container, inputs.settled, limitsFollow);
  if (kept.size === undefined) return withheld("ClassKept", kept.reason);
  const resources = adviseResources(inputs, kept.size, container, policy, limitsFollow);
  if (Object.keys(resources).length > 0) return { container: { containerName: container.name, resources } };
  if (SIZED.some((resource) => isForPerson(inputs, resource, kept.size[resource]))) {
    return withheld(
      "ApprovalNeeded",
      "the size is advice that differs much from what runs, and large changes wait for a person: set it in the workload, or set resize",
    );
  }
  return inputs.scalePoints.length > 0
    ? withheld(
        "ScalePointKept",
        `an HPA scales on use relative to the request of ${inputs.scalePoints.join(" and ")}`,
      )
    : withheld("NoSize", "the plan recommends no size for this service");
}

function adviseResources(
  inputs: VpaInputs,
  settled: ContainerSize,
  container: PodContainer,
  policy: ContainerPolicy | undefined,
  limitsFollow: boolean,
): ContainerAdvice["resources"] {
  const { act, advised, decided, pods, scalePoints, vpa, workload } = inputs;
  const stored = vpa.recommendations.find(({ containerName }) => containerName === container.name);
  const controlled = policy?.controlledResources ?? Object.values(RESOURCE_NAMES);
  const resources: Partial<Record<SizedResource, Steering & { uncapped: number }>> = {};
  for (const resource of SIZED) {
    const called = RESOURCE_NAMES[resource];
    const size = settled[resource];
    if (size === undefined || !controlled.includes(called) || scalePoints.includes(called)) continue;
    if (isForPerson(inputs, resource, size)) continue;
    const running = pods.flatMap((pod) => mainContainer(pod, workload)?.requests[resource] ?? []);
    const wished = requestFor(container, resource, size, limitsFollow);
    const steering = steer(wished, stored?.target[called], running, act && !advised.includes(called));
    resources[resource] = {
      ...capped(steering, resource, policy?.minAllowed ?? {}, policy?.maxAllowed ?? {}),
      uncapped: requestFor(container, resource, decided[resource] ?? size, limitsFollow),
    };
  }
  return resources;
}

/** Large advice in a VPA that would give it to new pods, where large changes wait for a person. */
function isForPerson(
  { advised, approvalRatio, pods, vpa, workload }: VpaInputs,
  resource: SizedResource,
  size: number | undefined,
): boolean {
  if (approvalRatio === undefined || size === undefined || vpa.updateMode === "Off") return false;
  if (!advised.includes(RESOURCE_NAMES[resource])) return false;
  const running = pods.flatMap((pod) => mainContainer(pod, workload) ?? []);
  return running.some((each) => {
    const { [resource]: now = 0 } = containerSize(each);
    return Math.abs(size - now) > approvalRatio * now;
  });
}

const doLimitsFollow = (policy: ContainerPolicy | undefined): boolean =>
  (policy?.controlledValues ?? "RequestsAndLimits") === "RequestsAndLimits";

/** What containers of a VPA's workload have now, in the terms of what it recommends. */
export const requestedSizes = (
  vpa: VerticalPodAutoscaler,
  running: readonly PodContainer[],
): ContainerSize[] => running.map((each) => requestedSize(each, doLimitsFollow(policyOf(vpa, each.name))));

/** The policy for a container: its own, else the one for all. */
function policyOf({ policies }: VerticalPodAutoscaler, container: string): ContainerPolicy | undefined {
  return (
    policies.find(({ containerName }) => containerName === container) ??
    policies.find(({ containerName }) => containerName === "*")
  );
}

const withheld = (reason: string, message: string): VpaAdvice => ({ withheld: { reason, message } });
