import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { applicationPlace, ApplicationResource } from "@tradewind/kubernetes/application/resource.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";

/** The application's configuration as the exporter itself reads it. */
export interface OwnApplication {
  current(): Application | undefined;
  /** Why there is none although one was named; the limits of the settings hold meanwhile. */
  problem(): string | undefined;
  stop(): Promise<void>;
}

export interface OwnApplicationOptions {
  /** A file, or `crd:namespace/name`; undefined: none. */
  readonly from: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly connection?: Connection | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Reads the application from a file, once, or follows it in the cluster. What cannot be read keeps nobody from being served:
 * it is logged, and {@link OwnApplication.problem} says so.
 * @throws TradewindError `invalid-input` when `from` begins like a resource and is none, `invalid-kubeconfig`
 */
export async function followApplication(options: OwnApplicationOptions): Promise<OwnApplication> {
  const { clock, from, log } = options;
  if (from === undefined) return still(undefined, undefined);
  const place = applicationPlace(from);
  if (place === undefined) {
    try {
      return still(await readApplication(from), undefined);
    } catch (error) {
      const problem = describeError(error);
      log.error({ problem }, "the guard knows no bounds of services; the limits of the settings hold");
      return still(undefined, problem);
    }
  }
  const { kubeconfig } = options;
  const connection = options.connection ?? (await connect({ kubeconfig, environment: process.env }));
  const client = new ApiClient(connection, { clock });
  const resource = new ApplicationResource({ ...place, client, clock, log });
  resource.start();
  return {
    current: () => resource.current(),
    problem: () => (resource.current() === undefined ? resource.whyNot() : undefined),
    stop: async () => {
      await resource.stop();
      await client.close();
    },
  };
}

const still = (application: Application | undefined, problem: string | undefined): OwnApplication => ({
  current: () => application,
  problem: () => problem,
  stop: async () => undefined,
});
