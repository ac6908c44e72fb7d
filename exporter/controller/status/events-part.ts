import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { apiVersionOfScalable } from "@tradewind/kubernetes/client/resources.ts";
import type { EventRecorder, Regarding } from "@tradewind/kubernetes/write/events.ts";
import type { Scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { changesBetween } from "./changes.ts";
import { modeIn } from "../scene/part.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";
import { nameProblem } from "./shared-names.ts";
import { regardingApplication, resourceOf } from "./status-part.ts";

/** Tells of changes on the workloads themselves, where `kubectl describe` shows them. Silent while an application is observed. */
export class EventsPart implements LeaderPart {
  readonly name = "events";
  private readonly recorder: EventRecorder;
  /** By uid of the Application, the cause that was last told. */
  private causes = new Map<string, string>();
  /** The same of names that other applications have too. */
  private names = new Map<string, string>();
  private seen = new Map<string, ServedRecommendation>();

  constructor(recorder: EventRecorder) {
    this.recorder = recorder;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    const { list, service: find } = scene;
    const seen = new Map<string, ServedRecommendation>();
    for (const served of list.recommendations) {
      const { namespace, service } = served;
      const key = `${namespace}\n${service}`;
      const workload = find(namespace, service)?.workload;
      const before = this.seen.get(key);
      // Where there is no workload (yet) the change is told once there is one.
      const mode = served.override?.mode ?? modeIn(scene, served);
      if (workload === undefined || mode === "observe") {
        if (before !== undefined) seen.set(key, before);
        continue;
      }
      seen.set(key, served);
      for (const change of changesBetween(before, served)) {
        await this.recorder.record({ ...change, regarding: regardingWorkload(workload) }, signal);
      }
    }
    this.seen = seen;
    await this.tellCauses(scene, signal);
    await this.tellNames(scene, signal);
  }

  /** On the Application that has a name of another one. */
  private async tellNames(scene: Scene, signal: AbortSignal): Promise<void> {
    const told = new Map<string, string>();
    for (const application of scene.applications) {
      const problem = nameProblem(application.sharedNames);
      const resource = resourceOf(scene, application);
      if (problem === undefined || resource === undefined) continue;
      const { message: note, reason } = problem;
      told.set(resource.metadata.uid, note);
      if (this.names.get(resource.metadata.uid) === note) continue;
      const facts = { type: "Warning", reason, action: "Compare", note } as const;
      await this.recorder.record({ ...facts, regarding: regardingApplication(resource) }, signal);
    }
    this.names = told;
  }

  /** On the Application itself: a missed objective has a service and a resource to its name. */
  private async tellCauses(scene: Scene, signal: AbortSignal): Promise<void> {
    const told = new Map<string, string>();
    for (const application of scene.applications) {
      const { cause, mode } = application.header ?? {};
      const resource = resourceOf(scene, application);
      if (cause === undefined || resource === undefined || mode === "observe") continue;
      const { uid } = resource.metadata;
      const named = `${cause.service} ${cause.type}`;
      told.set(uid, named);
      if (this.causes.get(uid) === named) continue;
      const facts = {
        type: "Warning",
        reason: "CauseNamed",
        action: "Explain",
        note: cause.summary,
      } as const;
      await this.recorder.record({ ...facts, regarding: regardingApplication(resource) }, signal);
    }
    this.causes = told;
  }
}

export const regardingWorkload = ({ apiVersion, kind, name, namespace, uid }: Scalable): Regarding => ({
  apiVersion: apiVersionOfScalable({ apiVersion, kind }),
  kind,
  namespace,
  name,
  uid,
});
