import { describeError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { listPages } from "../watch/list-pages.ts";
import { nothingFound, take } from "./found.ts";
import type { Found } from "./found.ts";

const NEEDED: readonly Resource[] = [RESOURCES.deployments, RESOURCES.statefulSets];
const HELPFUL: readonly Resource[] = [
  RESOURCES.services,
  RESOURCES.ingresses,
  RESOURCES.horizontalPodAutoscalers,
  RESOURCES.scaledObjects,
  RESOURCES.verticalPodAutoscalers,
  RESOURCES.persistentVolumeClaims,
  RESOURCES.rollouts,
  RESOURCES.gatewayRoutes,
  RESOURCES.openShiftRoutes,
  RESOURCES.virtualServices,
];
const MAX_OBJECTS = 20_000;

export interface ClusterReading {
  readonly found: Found;
  /** Kinds that are not installed. */
  readonly absent: readonly string[];
  /** What could not be read, in words. */
  readonly notes: readonly string[];
}

/** Reads a namespace with the rights of whoever runs this. @throws ApiError when its workloads cannot be read */
export async function readCluster(client: ApiClient, namespace: string): Promise<ClusterReading> {
  const found = nothingFound();
  const absent: string[] = [];
  const notes: string[] = [];
  const read = async (resource: Resource): Promise<void> => {
    const objects: unknown[] = [];
    await listPages(
      client,
      { resource, namespace },
      { pageSize: 500, maxItems: MAX_OBJECTS },
      (object) => objects.push(object),
      () => objects.splice(0),
    );
    for (const object of objects) {
      try {
        take(found, resource.kind, object);
      } catch (error) {
        notes.push(`a ${resource.kind} is left out: ${describeError(error).slice(0, 200)}`);
      }
    }
  };
  for (const resource of NEEDED) await read(resource);
  const forbidden: string[] = [];
  for (const resource of HELPFUL) {
    try {
      await read(resource);
    } catch (error) {
      if (error instanceof ApiError && error.isMissing) absent.push(resource.kind);
      else if (error instanceof ApiError && error.isForbidden) forbidden.push(resource.plural);
      else notes.push(`${resource.plural} could not be read: ${describeError(error).slice(0, 200)}`);
    }
  }
  if (forbidden.length > 0) {
    notes.push(`you may not list ${forbidden.join(", ")}: what they say of the workloads is not considered`);
  }
  return { found, absent, notes };
}
