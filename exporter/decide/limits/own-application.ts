import type { Clock } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { FollowedApplications } from "@tradewind/kubernetes/application/followed.ts";
import {
  applicationPlace,
  ApplicationResource,
  NOTHING_ANNOTATED,
} from "@tradewind/kubernetes/application/resource.ts";
import type { Annotated, ConfigurationReading } from "@tradewind/kubernetes/application/resource.ts";
import {
  applicationSources,
  maySeveral,
  resourceNamespaces,
} from "@tradewind/kubernetes/application/sources.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";

/** Configurations of applications as the exporter itself reads them. */
export interface OwnApplication {
  /** That of one application; of an exporter that reads only one it may be another one's, which the asker compares. */
  find(namespace: string, name: string): Application | undefined;
  /** Whether an application should be found and is not: not read since the start, not readable, or deleted. */
  isUnread(namespace: string, name: string): boolean;
  /** Resolves once they were read for the first time, which may be never. */
  first(): Promise<void>;
  /** How the newest state of an application's configuration was read; empty for one that is not read here. */
  reading(namespace: string, name: string): ConfigurationReading;
  /** Changes of an application that its annotations decide on. */
  annotated(namespace: string, name: string): Annotated;
  /** Why there is none although one was named; the limits of the settings hold meanwhile. */
  problem(): string | undefined;
  stop(): Promise<void>;
}

export interface OwnApplicationOptions {
  /** Files, directories, `crd:namespace/name`, `crd:namespace/*`; empty: none. */
  readonly from: readonly string[];
  readonly kubeconfig: string | undefined;
  readonly connection?: Connection | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Reads the application from a file, once, or follows it in the cluster; or follows several. What cannot be read keeps nobody from
 * being served: it is logged, and {@link OwnApplication.problem} says so.
 * @throws TradewindError `invalid-input` when `from` begins like a resource and is none, `invalid-kubeconfig`
 */
export async function followApplication(options: OwnApplicationOptions): Promise<OwnApplication> {
  const { clock, from, log } = options;
  const sources = await applicationSources(from);
  if (maySeveral(sources)) return followSeveral(options, sources);
  const [only] = from;
  if (only === undefined) return still(undefined, undefined);
  const place = applicationPlace(only);
  if (place === undefined) {
    try {
      return still(await readApplication(only), undefined);
    } catch (error) {
      const problem = describeError(error);
      log.error({ problem }, "the guard knows no bounds of services; the limits of the settings hold");
      return still(undefined, problem);
    }
  }
  const client = await clientOf(options);
  const resource = new ApplicationResource({ ...place, client, clock, log });
  resource.start();
  const first = resource.first().then(() => undefined);
  const isIts = (namespace: string, name: string): boolean =>
    namespace === place.namespace && name === place.name;
  return {
    find: () => resource.current(),
    isUnread: (namespace, name) => isIts(namespace, name) && resource.current() === undefined,
    first: async () => first,
    reading: (namespace, name) =>
      isIts(namespace, name) ? { problem: resource.problem(), generation: resource.currentGeneration() } : {},
    annotated: (namespace, name) => (isIts(namespace, name) ? resource.annotated() : NOTHING_ANNOTATED),
    problem: () => (resource.current() === undefined ? resource.whyNot() : undefined),
    stop: async () => {
      await resource.stop();
      await client.close();
    },
  };
}

async function followSeveral(
  options: OwnApplicationOptions,
  sources: Awaited<ReturnType<typeof applicationSources>>,
): Promise<OwnApplication> {
  const { clock, log } = options;
  const client = resourceNamespaces(sources) === undefined ? undefined : await clientOf(options);
  const first = Promise.withResolvers<void>();
  const onChange = (): void => {
    if (followed.whyNot() === undefined) first.resolve();
  };
  const followed = new FollowedApplications({ sources, client, clock, log, onChange });
  await followed.start();
  return {
    find: (namespace, name) => followed.find(applicationKey({ namespace, name })),
    isUnread: (namespace, name) => followed.isUnread(applicationKey({ namespace, name })),
    first: async () => first.promise,
    reading: (namespace, name) => followed.reading(applicationKey({ namespace, name })),
    annotated: (namespace, name) => followed.annotated(applicationKey({ namespace, name })),
    problem: () => followed.whyNot(),
    stop: async () => {
      await followed.stop();
      await client?.close();
    },
  };
}

async function clientOf({ clock, connection, kubeconfig }: OwnApplicationOptions): Promise<ApiClient> {
  return new ApiClient(connection ?? (await connect({ kubeconfig, environment: process.env })), { clock });
}

const still = (application: Application | undefined, problem: string | undefined): OwnApplication => ({
  find: () => application,
  isUnread: () => problem !== undefined,
  first: async () => undefined,
  reading: () => ({}),
  annotated: () => NOTHING_ANNOTATED,
  problem: () => problem,
  stop: async () => undefined,
});
