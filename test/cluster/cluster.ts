import { afterAll, beforeAll } from "vitest";
import { startControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";
import { measured } from "./measured.ts";
import { BUILD_COMMAND, builtPrograms } from "./programs.ts";

/** For one test. A minute is enough on an idle machine; on a busy one each step took ten times as long. */
export const TIMEOUT_MS = 240_000;

/** `0` leaves out tests in a cluster, for a machine that has no time for them. */
export const leftOut = process.env["TRADEWIND_CLUSTER_TESTS"] === "0";

const programs = leftOut ? undefined : builtPrograms();
/** True after a loud word where the tests are left out or the programs were not built. */
export const noCluster = programs === undefined;
if (noCluster) {
  const why = leftOut
    ? "TRADEWIND_CLUSTER_TESTS is 0"
    : `kube-apiserver and KEDA were not built; '${BUILD_COMMAND}' builds them`;
  process.stderr.write(`\ntests in a real cluster are SKIPPED: ${why}\n`);
}

/** A control plane for the tests of the `describe` that calls this; it is there from the first test on. @param syncSeconds how often HPAs are looked at */
export function useCluster(syncSeconds?: number): () => ControlPlane {
  let cluster: ControlPlane | undefined;
  beforeAll(async () => {
    const startedMs = performance.now();
    cluster = await startControlPlane(programs ?? "", syncSeconds);
    measured("the control plane with KEDA is up", (performance.now() - startedMs) / 1_000);
  }, TIMEOUT_MS);
  afterAll(() => cluster?.stop());
  return () => {
    if (cluster === undefined) throw new Error("the cluster did not start");
    return cluster;
  };
}
