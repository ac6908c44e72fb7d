import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { applicationStatus, materialOf } from "./application-status.ts";
import type { LeaderPart, Scene } from "./part.ts";
import type { ApplicationObject } from "./namespaces.ts";

/** Owner of the fields that the exporter applies. */
export const FIELD_MANAGER = "tradewind-exporter";

/** Numbers that only drift are written this often. */
const DRIFT_MS = 60_000;

export interface StatusPartOptions {
  readonly client: ApiClient;
  readonly log: Logger;
  readonly onWrite: (result: "written" | "failed") => void;
}

/** Keeps the status of the Application resource that the plan is for. Without such a resource there is nothing to do. */
export class StatusPart implements LeaderPart {
  readonly name = "status";
  private readonly options: StatusPartOptions;
  private writtenText = "";
  private writtenMaterial = "";
  private writtenMs = Number.NEGATIVE_INFINITY;
  private problem: string | undefined;

  constructor(options: StatusPartOptions) {
    this.options = options;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    const { header, list } = scene;
    const application = applicationOf(scene);
    if (application === undefined) return;
    const status = applicationStatus({
      list,
      header,
      prices: application.spec.prices,
      workloadOf: scene.service,
      generation: application.metadata.generation,
      before: application.status?.conditions ?? [],
      nowMs: scene.nowMs,
    });
    const text = JSON.stringify(status);
    const material = materialOf(status);
    const isDue = material !== this.writtenMaterial || scene.monotonicMs - this.writtenMs >= DRIFT_MS;
    if (text === this.writtenText || !isDue) return;
    if (await this.write(application, status, signal)) {
      this.writtenText = text;
      this.writtenMaterial = material;
      this.writtenMs = scene.monotonicMs;
    }
  }

  private async write(
    { metadata: { name, namespace } }: ApplicationObject,
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
      this.problem = undefined;
      return true;
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.isMissing)) return false;
      onWrite("failed");
      const problem = describeError(error);
      if (problem !== this.problem) log.warn({ name, namespace, problem }, "the status was not written");
      this.problem = problem;
      return false;
    }
  }
}

/** The resource of the plan's application, as last seen. */
export function applicationOf({ header, view }: Scene): ApplicationObject | undefined {
  if (header === undefined) return undefined;
  return view(header.namespace)?.applications?.items.get(`${header.namespace}/${header.application}`);
}
