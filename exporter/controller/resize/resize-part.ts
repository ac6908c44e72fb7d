import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { ANNOTATIONS } from "@tradewind/kubernetes/objects/metadata.ts";
import { formatCores, formatMemory } from "@tradewind/core/values/amounts.ts";
import type { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import type { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import { regardingWorkload } from "../status/events-part.ts";
import { modeIn } from "../scene/part.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";
import { FRESH_MS } from "../scene/scene.ts";
import type { ServiceWorkload } from "../scene/services.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { containerSize } from "../sizing/container-size.ts";
import { countedOn, doubtOf } from "../sizing/settled-sizes.ts";
import type { SettledSizes } from "../sizing/settled-sizes.ts";
import type { ContainerSize } from "../sizing/size-history.ts";
import { judge } from "./judge.ts";
import type { Judgement, ResizeMemory } from "./judge.ts";
import type { ContainerResources } from "./resources-for.ts";

export const RESIZE_RESULTS = ["asked", "done", "taken-back", "refused"] as const;
export type ResizeResult = (typeof RESIZE_RESULTS)[number];

export interface ResizePartOptions {
  readonly client: ApiClient;
  readonly sizes: SettledSizes;
  /** Absent where events are not to be written. */
  readonly recorder: EventRecorder | undefined;
  readonly log: Logger;
  readonly onResult: (result: ResizeResult) => void;
}

const SIDES = ["requests", "limits"] as const;

/** At most this share of a workload's pods is on the way to another size at once. */
const AT_ONCE = 0.25;
/** A cluster that does not know the resize subresource is asked again after this time. */
const UNSUPPORTED_MS = 600_000;

/**
 * Resizes running pods in place where the decision counts on it, a quarter of a workload at once. What a node cannot give is taken back, and
 * the pod left alone for an hour: replicas carry the load meanwhile, and nothing is ever evicted.
 */
export class ResizePart implements LeaderPart {
  readonly name = "in-place-resize";
  private readonly options: ResizePartOptions;
  /** By the pod's uid. */
  private readonly memories = new Map<string, ResizeMemory & { readonly namespace: string }>();
  private unsupportedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ResizePartOptions) {
    this.options = options;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    const mayAct = scene.applications.some(({ header }) => header?.mode === "act");
    if (!mayAct || scene.monotonicMs < this.unsupportedUntilMs) return;
    const alive = new Set<string>();
    for (const served of scene.list.recommendations) {
      const known = scene.service(served.namespace, served.service);
      if (known === undefined || modeIn(scene, served) !== "act") continue;
      for (const { uid } of known.pods) alive.add(uid);
      if (doubtOf(served) !== undefined || isTakenCareOf(known, scene)) continue;
      const running = known.pods.flatMap((pod) => mainContainer(pod, known.workload.name) ?? []);
      const settled = this.options.sizes.settled(served, running.map(containerSize), scene.monotonicMs);
      await this.resizeWorkload(known, countedOn(settled, served), scene, signal);
      if (signal.aborted) return;
    }
    for (const [uid, { namespace }] of this.memories) {
      if (!alive.has(uid) && !isUnknown(scene, namespace)) this.memories.delete(uid);
    }
  }

  private async resizeWorkload(
    { pods, scalePoints, workload }: ServiceWorkload,
    settled: ContainerSize,
    scene: Scene,
    signal: AbortSignal,
  ): Promise<void> {
    const judged = pods.map((pod) => ({
      pod,
      judgement: judge({
        pod,
        workload: workload.name,
        settled,
        scalePoints,
        memory: this.memories.get(pod.uid),
        nowMs: scene.nowMs,
      }),
    }));
    let room = Math.max(1, Math.floor(pods.length * AT_ONCE));
    room -= judged.filter(({ judgement }) => judgement.kind === "wait").length;
    for (const { judgement, pod } of judged) {
      if (signal.aborted) return;
      if (judgement.kind === "fits" && judgement.done) await this.done(pod, workload, signal);
      if (judgement.kind === "take-back")
        await this.takeBack(pod, judgement, { scene, settled, signal, workload });
      if (judgement.kind !== "resize" || room <= 0) continue;
      room -= 1;
      const { limits = {}, requests = {} } = mainContainer(pod, workload.name) ?? {};
      const before = { requests, limits };
      const wished = sizeMoved(settled, judgement.resources);
      const asked = await this.patch(pod, judgement.container, judgement.resources, signal);
      if (asked === "ok") {
        this.memories.set(pod.uid, { namespace: pod.namespace, before, wished });
        this.options.onResult("asked");
      } else if (asked === "refused") {
        this.memories.set(pod.uid, { namespace: pod.namespace, before, wished, blockedAtMs: scene.nowMs });
        this.options.onResult("refused");
      } else if (asked === "unsupported") {
        this.unsupportedUntilMs = scene.monotonicMs + UNSUPPORTED_MS;
        return;
      } else {
        // Nothing larger is asked for in this round; sizes that nodes cannot give are still reverted.
        room = 0;
      }
    }
  }

  private async done(pod: Pod, workload: ServiceWorkload["workload"], signal: AbortSignal): Promise<void> {
    const memory = this.memories.get(pod.uid);
    // A blocked pod that fits was never resized.
    if (memory === undefined || memory.blockedAtMs !== undefined) return;
    this.memories.delete(pod.uid);
    this.options.onResult("done");
    const note = `pod ${pod.name} was resized to ${words(memory.wished)} in place`;
    await this.tell(workload, "Normal", "PodResized", note, signal);
  }

  private async takeBack(
    pod: Pod,
    judgement: Extract<Judgement, { kind: "take-back" }>,
    { scene, settled, signal, workload }: Round,
  ): Promise<void> {
    const memory = this.memories.get(pod.uid);
    const isEmpty = SIDES.every((side) => Object.keys(judgement.resources[side]).length === 0);
    const { container, resources } = judgement;
    const taken = isEmpty ? "ok" : await this.patchBack(pod, container, resources, signal);
    if (taken === "failed" || taken === "unsupported") return;
    const before = memory?.before ?? { requests: {}, limits: {} };
    const blockedAtMs = scene.nowMs;
    this.memories.set(pod.uid, { namespace: pod.namespace, before, wished: settled, blockedAtMs });
    this.options.onResult(taken === "ok" ? "taken-back" : "refused");
    const end =
      taken === "ok" ? "keeps its size" : "still asks for it, which the API server lets nobody take back";
    const note = `pod ${pod.name} could not be resized to ${words(settled)} and ${end}: ${judgement.reason}`;
    await this.tell(workload, "Warning", "PodResizeTakenBack", note, signal);
  }

  /**
   * Asks for what there was, to the byte: rounded up it would be a new growth. Kubernetes 1.33 lets no memory limit be lowered; the rest is
   * then reverted without it.
   */
  private async patchBack(
    pod: Pod,
    container: string,
    { limits, requests }: ContainerResources,
    signal: AbortSignal,
  ): Promise<"ok" | "refused" | "unsupported" | "failed"> {
    const whole = await this.patch(pod, container, { limits, requests }, signal, exactly);
    if (whole !== "refused" || limits.memoryBytes === undefined) return whole;
    const { memoryBytes: _, ...others } = limits;
    if (Object.keys(others).length + Object.keys(requests).length === 0) return whole;
    return this.patch(pod, container, { limits: others, requests }, signal, exactly);
  }

  /** @returns `refused` when it is this pod that cannot be resized, `failed` when nothing can be said */
  private async patch(
    { name, namespace }: Pod,
    container: string,
    wanted: ContainerResources,
    signal: AbortSignal,
    written = quantities,
  ): Promise<"ok" | "refused" | "unsupported" | "failed"> {
    const { client, log } = this.options;
    const resources = Object.fromEntries(
      SIDES.map((side) => [side, written(wanted[side])] as const).filter(
        ([, list]) => Object.keys(list).length > 0,
      ),
    );
    try {
      await client.patch(
        { resource: RESOURCES.pods, namespace, name, subresource: "resize" },
        "strategic",
        { spec: { containers: [{ name: container, resources }] } },
        signal,
      );
      return "ok";
    } catch (error) {
      if (signal.aborted) return "failed";
      const problem = describeError(error);
      if (error instanceof ApiError && isRefusal(error)) {
        log.warn({ pod: name, namespace, problem }, "a pod cannot be resized in place");
        return "refused";
      }
      if (error instanceof ApiError && isUnsupported(error)) {
        log.warn({ problem }, "this cluster does not resize pods in place (Kubernetes 1.33 or newer does)");
        return "unsupported";
      }
      if (!(error instanceof ApiError && (error.isMissing || error.isConflict))) {
        log.warn({ pod: name, namespace, problem }, "a pod was not resized");
      }
      return "failed";
    }
  }

  private async tell(
    workload: ServiceWorkload["workload"],
    type: "Normal" | "Warning",
    reason: string,
    note: string,
    signal: AbortSignal,
  ): Promise<void> {
    const regarding = regardingWorkload(workload);
    await this.options.recorder?.record({ regarding, type, reason, action: "Resize", note }, signal);
  }
}

/** The parts of a size for which something of a container changes. */
function sizeMoved(settled: ContainerSize, { limits, requests }: ContainerResources): ContainerSize {
  const moved = { ...limits, ...requests };
  return Object.fromEntries(Object.entries(settled).filter(([resource]) => resource in moved));
}

interface Round {
  readonly scene: Scene;
  readonly settled: ContainerSize;
  readonly signal: AbortSignal;
  readonly workload: ServiceWorkload["workload"];
}

/** Its workloads are followed, and what is known of them is too old to say that a pod is gone. */
function isUnknown({ view }: Scene, namespace: string): boolean {
  return view(namespace)?.workloads.isFresh(FRESH_MS) === false;
}

/** Another one resizes these pods, or a person said no: by an annotation, or by a VPA whose mode is to look on. */
function isTakenCareOf({ workload }: ServiceWorkload, { view }: Scene): boolean {
  if (workload.annotations[ANNOTATIONS.resize] === "off") return true;
  const vpas = view(workload.namespace)?.vpas;
  // While it is not known what VPAs there are, there may be one for it. An age is infinite before the first list.
  if (vpas === undefined || vpas.ageMs() > FRESH_MS) return true;
  return [...vpas.items.values()].some(
    ({ target }) => target?.kind === workload.kind && target.name === workload.name,
  );
}

/** It is this size of this pod that is refused: by its validation, or by a quota or LimitRange. A right that is missing concerns all. */
const isRefusal = ({ message, status }: ApiError): boolean =>
  status === 422 || status === 400 || (status === 403 && !message.includes("cannot patch resource"));

/** 404 with a reason of its own is a missing pod; the bare page means that the path is not known. */
const isUnsupported = ({ isMissing, reason }: ApiError): boolean => isMissing && reason !== "NotFound";

function quantities({ cpuCores, memoryBytes }: ContainerSize): Record<string, string> {
  return {
    ...(cpuCores !== undefined && { cpu: formatCores(cpuCores) }),
    ...(memoryBytes !== undefined && { memory: formatMemory(memoryBytes) }),
  };
}

function exactly({ cpuCores, memoryBytes }: ContainerSize): Record<string, string> {
  return {
    ...(cpuCores !== undefined && { cpu: inUnits(Math.round(1e9 * cpuCores), 1e6, ["m", "n"]) }),
    ...(memoryBytes !== undefined && { memory: inUnits(Math.round(memoryBytes), 2 ** 20, ["Mi", ""]) }),
  };
}

/** As whole units where it is a number of them, else in the smaller ones. */
const inUnits = (amount: number, unit: number, [large, small]: readonly [string, string]): string =>
  amount % unit === 0 ? `${amount / unit}${large}` : `${amount}${small}`;

const words = (size: ContainerSize): string =>
  Object.entries(quantities(size))
    .map(([name, text]) => `${text} ${name === "cpu" ? "CPU" : name}`)
    .join(" and ");
