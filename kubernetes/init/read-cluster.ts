import { describeError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { apiVersionOf, RESOURCES } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { listPages } from "../watch/list-pages.ts";
import { canResizePods, scalableKinds } from "../workloads/discovery.ts";
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
  RESOURCES.slothLevels,
  RESOURCES.pyrraObjectives,
];
const MAX_OBJECTS = 20_000;
/** Kinds beyond these that a cluster has: each is a request of its own. */
const MOST_OTHERS = 20;
/** Kinds with replicas that are read anyway, and those that a Deployment makes. */
const READ = new Set([...NEEDED, ...HELPFUL, RESOURCES.replicaSets].map(({ kind }) => kind));

export interface ClusterReading {
  readonly found: Found;
  /** Kinds that are not installed. */
  readonly absent: readonly string[];
  /** Sizes of running pods can be changed. */
  readonly canResize: boolean;
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
        take(found, resource.kind, { apiVersion: apiVersionOf(resource), ...(object as object) });
      } catch (error) {
        notes.push(`a ${resource.kind} is left out: ${describeError(error).slice(0, 200)}`);
      }
    }
  };
  for (const resource of NEEDED) await read(resource);
  const forbidden: string[] = [];
  for (const resource of [...HELPFUL, ...(await otherKinds(client, notes))]) {
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
  const canResize = await canResizePods(client).catch((error: unknown) => {
    notes.push(`whether running pods can be resized cannot be read: ${describeError(error).slice(0, 200)}`);
    return false;
  });
  return { found, absent, canResize, notes };
}

/** Kinds whose pods users may reach although nothing else of them is read: without them an entry would be guessed among the rest. */
async function otherKinds(client: ApiClient, notes: string[]): Promise<Resource[]> {
  try {
    const kinds = (await scalableKinds(client)).filter(({ kind }) => !READ.has(kind));
    const preferred = new Map([...kinds].reverse().map((each) => [`${each.group}/${each.plural}`, each]));
    return [...preferred.values()].reverse().slice(0, MOST_OTHERS);
  } catch (error) {
    notes.push(`which other kinds there are cannot be read: ${describeError(error).slice(0, 200)}`);
    return [];
  }
}
