import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import type { Block } from "@tradewind/kubernetes/client/rights.ts";
import { deployment, podOf, replicaSet } from "../../../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../../../kubernetes/fake-objects.ts";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

export const SIZES = { requests: { cpu: "200m", memory: "128Mi" } };
const ELECTION = { leaseSeconds: 1, renewDeadlineMs: 400, retryMs: 30 };
const WATCHES = { backoff: { firstMs: 5, maxMs: 20 }, absentMs: 100 };

type Part = "status" | "events" | "vpa" | "inPlaceResize";

/** A cluster with a Deployment `search` of two pods, and a user with the rights for these parts and no others. */
export async function cluster(parts: readonly Part[]) {
  const fake = await FakeApiServer.start();
  const blocks: Block[] = ["workloads", ...(parts.filter((part) => part !== "status") as Block[])];
  if (parts.includes("status")) blocks.push("application");
  fake.addUser("scaler", "scaler-token", [
    { namespace: "tradewind", rules: rulesFor("scaler", "own", ["leader"]) },
    { namespace: "shop", rules: rulesFor("scaler", "watched", blocks) },
  ]);
  fake.put(RESOURCES.deployments, deployment("search"));
  fake.put(RESOURCES.replicaSets, replicaSet("search-abc12", "search"));
  for (const index of [0, 1]) fake.put(RESOURCES.pods, podOf("search", index, SIZES));
  const exporter = async (
    plan: Plan | undefined,
    identity = "scaler-0",
    input: ExporterInput = {},
  ): Promise<TestExporter> =>
    runningExporter(
      plan,
      {
        cluster: {
          ...Object.fromEntries(parts.map((part) => [part, true])),
          identity,
          namespace: "tradewind",
          reconcileMs: 30,
        },
        ...input,
      },
      { cluster: { connection: fake.connection("scaler-token"), election: ELECTION, watchTimings: WATCHES } },
    );
  return { fake, exporter };
}

export const wish = (changes: Partial<Wish> = {}): Wish => wishOf({ confidence: 0.9, ...changes });
export const plan = (wishes: readonly Wish[], changes: Partial<Plan> = {}): Plan =>
  planOf(wishes, { windowSeconds: 15, mode: "act", complete: true, ...changes });

export const application: KubeObject = {
  metadata: { name: "hotel", namespace: "shop" },
  spec: { entry: "search", objective: { milliseconds: 200 } },
};
export const statusOf = (fake: FakeApiServer): ApplicationStatus | undefined =>
  fake.find(RESOURCES.applications, "shop", "hotel")?.status as ApplicationStatus | undefined;
