import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import type { Regarding } from "@tradewind/kubernetes/write/events.ts";
import { applicationStatus, materialOf } from "./application-status.ts";
import type { LeaderPart, Scene, SceneApplication } from "../scene/part.ts";
import type { ApplicationObject } from "../scene/namespace-watches.ts";

/** Owner of the fields that the exporter applies. */
export const FIELD_MANAGER = "tradewind-exporter";

/** Numbers that only drift are written this often. */
const DRIFT_MS = 60_000;

export interface StatusPartOptions {
  readonly client: ApiClient;
  readonly log: Logger;
  readonly onWrite: (result: "written" | "failed") => void;
}

interface WrittenStatus {
  readonly text: string;
  readonly material: string;
  readonly ms: number;
}

/** Keeps the status of the Application resources that plans are for. Without such a resource there is nothing to do. */
export class StatusPart implements LeaderPart {
  readonly name = "status";
  private readonly options: StatusPartOptions;
  /** By uid of the resource. */
  private readonly written = new Map<string, WrittenStatus>();
  private readonly problems = new Map<string, string>();

  constructor(options: StatusPartOptions) {
    this.options = options;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    const alive = new Set<string>();
    for (const application of scene.applications) {
      const resource = resourceOf(scene, application);
      if (resource === undefined || signal.aborted) continue;
      alive.add(resource.metadata.uid);
      await this.reconcileOne(resource, application, scene, signal);
    }
    for (const uid of this.written.keys()) if (!alive.has(uid)) this.written.delete(uid);
  }

  private async reconcileOne(
    resource: ApplicationObject,
    { header, list, problem, reading, sharedNames }: SceneApplication,
    scene: Scene,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid } = resource.metadata;
    const before = this.written.get(uid);
    const servicesThat = (is: Scene["isPaused"]): string[] =>
      list.recommendations
        .filter(({ namespace, service }) => is(namespace, service))
        .map(({ service }) => service);
    const status = applicationStatus({
      list,
      header,
      problem,
      paused: servicesThat(scene.isPaused),
      contested: servicesThat(scene.isContested),
      sharedNames,
      prices: resource.spec.prices,
      workloadOf: scene.service,
      generation: generationInUse(resource, reading),
      before: resource.status?.conditions ?? [],
      nowMs: scene.nowMs,
    });
    const text = JSON.stringify(status);
    const material = materialOf(status);
    const isDue = material !== before?.material || scene.monotonicMs - before.ms >= DRIFT_MS;
    if (text === before?.text || !isDue) return;
    if (await this.write(resource, status, signal)) {
      this.written.set(uid, { text, material, ms: scene.monotonicMs });
    }
  }

  private async write(
    { metadata: { name, namespace, uid } }: ApplicationObject,
    status: ApplicationStatus,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, log, onWrite } = this.options;
    const { applications } = RESOURCES;
    try {
      await client.apply(
        { resource: applications, namespace, name, subresource: "status" },
        {
          apiVersion: apiVersionOf(applications),
          kind: applications.kind,
          metadata: { name, namespace },
          status,
        },
        { manager: FIELD_MANAGER, force: true, signal },
      );
      onWrite("written");
      this.problems.delete(uid);
      return true;
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.isMissing)) return false;
      onWrite("failed");
      const problem = describeError(error);
      if (problem !== this.problems.get(uid))
        log.warn({ name, namespace, problem }, "the status was not written");
      this.problems.set(uid, problem);
      return false;
    }
  }
}

/** One that cannot be used is not observed: what the status says of the one before stays. */
function generationInUse(
  { metadata, status }: ApplicationObject,
  { generation, problem }: NonNullable<SceneApplication["reading"]> = {},
): number | undefined {
  if (generation !== undefined) return generation;
  return problem === undefined ? metadata.generation : (status?.observedGeneration ?? undefined);
}

/** An Application as events name what they are about. */
export function regardingApplication({ metadata: { name, namespace, uid } }: ApplicationObject): Regarding {
  const { applications } = RESOURCES;
  return { apiVersion: apiVersionOf(applications), kind: applications.kind, namespace, name, uid };
}

/** The resource of an application, as last seen. */
export function resourceOf({ view }: Scene, { place }: SceneApplication): ApplicationObject | undefined {
  if (place === undefined) return undefined;
  return view(place.namespace)?.applications?.items.get(`${place.namespace}/${place.name}`);
}
