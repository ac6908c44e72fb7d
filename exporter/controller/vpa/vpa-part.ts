import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { applicationIn, modeIn, modeOf } from "../scene/part.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { doubtOf, sizeOf } from "../sizing/settled-sizes.ts";
import type { SettledSizes } from "../sizing/settled-sizes.ts";
import { advise, requestedSizes } from "./recommend.ts";
import type { VpaAdvice } from "./recommend.ts";
import { statusDiffers, vpaStatus } from "./status.ts";

/** The name by which a VPA asks for us in `spec.recommenders`. */
export const RECOMMENDER = "tradewind";

export interface VpaPartOptions {
  readonly client: ApiClient;
  readonly sizes: SettledSizes;
  readonly log: Logger;
  readonly onWrite: (result: "written" | "failed") => void;
}

/** VPAs that ask for us alone: one with several recommenders is refused by VPA's own components too. */
export function isOurs({ recommenders }: VerticalPodAutoscaler): boolean {
  return recommenders.length === 1 && recommenders[0] === RECOMMENDER;
}

/** The alternate recommender: keeps the status of every VPA that names us, and touches no other. */
export class VpaPart implements LeaderPart {
  readonly name = "vpa";
  private readonly options: VpaPartOptions;
  private readonly problems = new Map<string, string>();

  constructor(options: VpaPartOptions) {
    this.options = options;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    if (scene.applications.every((each) => modeOf(each) === "observe")) return;
    const namespaces = new Set(scene.list.recommendations.map(({ namespace }) => namespace));
    for (const namespace of namespaces) {
      for (const vpa of scene.view(namespace)?.vpas?.items.values() ?? []) {
        if (signal.aborted) return;
        const { target } = vpa;
        const served = target && scene.served(namespace, target.kind, target.name);
        if (isOurs(vpa) && modeIn(scene, served) !== "observe") await this.reconcileOne(vpa, scene, signal);
      }
    }
  }

  private async reconcileOne(vpa: VerticalPodAutoscaler, scene: Scene, signal: AbortSignal): Promise<void> {
    const { advice, doubt } = this.adviceFor(vpa, scene);
    const status = vpaStatus(vpa, advice, doubt, scene.nowMs);
    if (!statusDiffers(vpa, status)) return;
    const { client, log, onWrite } = this.options;
    const { name, namespace, uid } = vpa;
    try {
      await client.patch(
        { resource: RESOURCES.verticalPodAutoscalers, namespace, name, subresource: "status" },
        "json",
        [{ op: "add", path: "/status", value: status }],
        signal,
      );
      onWrite("written");
      this.problems.delete(uid);
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.isMissing)) return;
      onWrite("failed");
      const problem = describeError(error);
      if (problem !== this.problems.get(uid))
        log.warn({ name, namespace, problem }, "a VPA's status was not written");
      this.problems.set(uid, problem);
    }
  }

  private adviceFor(
    vpa: VerticalPodAutoscaler,
    scene: Scene,
  ): { readonly advice: VpaAdvice; readonly doubt: string | undefined } {
    const { namespace, target } = vpa;
    if (target === undefined) return withheld("NoTarget", "the VPA has no targetRef");
    const served = scene.served(namespace, target.kind, target.name);
    if (modeIn(scene, served) === "recommend" && vpa.updateMode !== "Off") {
      return withheld(
        "OnlyRecommended",
        `the application's mode is recommend, and updateMode ${vpa.updateMode} acts`,
      );
    }
    const known = served && scene.service(namespace, served.service);
    if (served === undefined || known === undefined) {
      return withheld("UnknownTarget", `nothing is recommended for ${target.kind} ${target.name}`);
    }
    const { pods, scalePoints } = known;
    const running = pods.flatMap((pod) => mainContainer(pod, target.name) ?? []);
    const doubt = doubtOf(served);
    const advice = advise({
      vpa,
      workload: target.name,
      pods,
      settled: this.options.sizes.settled(served, requestedSizes(vpa, running), scene.monotonicMs),
      decided: sizeOf(served),
      scalePoints,
      advised: served.advised ?? [],
      approvalRatio: applicationIn(scene, served)?.approvalRatio,
      act: doubt === undefined,
    });
    return { advice, doubt };
  }
}

const withheld = (reason: string, message: string) => ({
  advice: { withheld: { reason, message } },
  doubt: undefined,
});
