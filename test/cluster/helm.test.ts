import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { CASES, CHART, helm, runHelm, valuesOf } from "../charts/helm.ts";
import { kubebuilderAssets, startRealApiServer } from "../kubernetes/real-api-server.ts";
import type { RealApiServer } from "../kubernetes/real-api-server.ts";
import { waitUntil } from "../wait-until.ts";
import { leftOut, TIMEOUT_MS } from "./cluster.ts";
import { create } from "./create.ts";
import { definition, FOREIGN } from "./foreign-kinds.ts";

const assets = helm === undefined || leftOut ? undefined : kubebuilderAssets();

/** Namespaces that the value files speak of. */
const NAMESPACES = ["tradewind", "shop", "bank", "payments", "monitoring", "keda"];

/** Kinds of which a release leaves traces in namespace `tradewind`. */
const OWN = [
  RESOURCES.deployments,
  RESOURCES.services,
  { ...RESOURCES.deployments, plural: "daemonsets", kind: "DaemonSet" },
  RESOURCES.statefulSets,
  { ...RESOURCES.services, plural: "configmaps", kind: "ConfigMap" },
  ...FOREIGN,
];

const Objects = z.object({
  items: z.array(z.looseObject({ metadata: z.object({ name: z.string() }) })),
});

describe.skipIf(assets === undefined)("Helm and a real API server", { timeout: TIMEOUT_MS }, () => {
  let server: RealApiServer;
  let api: ApiClient;
  beforeAll(async () => {
    server = await startRealApiServer(assets ?? "");
    api = new ApiClient(server.connection("admin"));
    for (const name of NAMESPACES) await create(api, RESOURCES.namespaces, { metadata: { name } });
    for (const each of FOREIGN) await create(api, RESOURCES.customResourceDefinitions, definition(each));
    await waitUntil(
      async () =>
        Promise.all(FOREIGN.map(async (each) => list(each, "none"))).then(
          () => true,
          () => false,
        ),
      60_000,
      "foreign kinds are served",
    );
  }, TIMEOUT_MS);
  afterAll(async () => {
    await api?.close();
    await server?.stop();
  });

  const list = async (resource: Resource, release: string): Promise<z.infer<typeof Objects>["items"]> => {
    const place = { resource, namespace: "tradewind" };
    const query = { labelSelector: `app.kubernetes.io/instance=${release}` };
    return Objects.parse(await api.call({ ...place, verb: "list", query })).items;
  };
  /** Names and contents of what a release has in the cluster. */
  const released = async (release: string): Promise<Record<string, unknown>> => {
    const found: Record<string, unknown> = {};
    for (const resource of OWN) {
      for (const { data, metadata, spec } of await list(resource, release)) {
        found[`${resource.kind} ${metadata.name}`] = { spec, data };
      }
    }
    return found;
  };
  const succeeds = async (...args: readonly string[]): Promise<void> => {
    const flags = ["--namespace", "tradewind", "--kubeconfig", server.kubeconfig];
    const { ok, stderr } = await runHelm(...args, ...flags);
    expect(ok, `helm ${args[0]}: ${stderr}`).toBe(true);
  };

  it.each(CASES)(
    "install %s, upgrade it to another configuration, roll back to the same objects, and leave nothing",
    async (name) => {
      await succeeds("install", name, CHART, "--values", valuesOf(name));
      const installed = await released(name);
      expect(Object.keys(installed).length).toBeGreaterThan(2);
      await succeeds("upgrade", name, CHART, "--values", valuesOf(name === "full" ? "minimal" : "full"));
      expect(await released(name)).not.toEqual(installed);
      await succeeds("rollback", name, "1");
      expect(await released(name)).toEqual(installed);
      await succeeds("uninstall", name);
      expect(await released(name)).toEqual({});
    },
  );
});
