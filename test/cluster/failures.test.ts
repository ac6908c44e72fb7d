import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { fixture, secretDirectory, servedName } from "../exporter/serve/keda/secret.ts";
import { noCluster, TIMEOUT_MS, useCluster } from "./cluster.ts";
import { create } from "./create.ts";
import { eventually, Stage } from "./stage.ts";

const METRIC = "s0-recommended-replicas";

/** KEDA calls a ScaledObject ready in other cases when it has a fallback. */
const OBJECTS: [string, string, object][] = [
  ["without a fallback", "plain", {}],
  [
    "with a fallback",
    "fallback",
    { fallback: { failureThreshold: 3, replicas: 4, behavior: "currentReplicasIfHigher" } },
  ],
];

describe.skipIf(noCluster)("real KEDA and a real HPA, when the scaler fails", { timeout: TIMEOUT_MS }, () => {
  const cluster = useCluster();

  it.each(OBJECTS)(
    "keep replicas while the only scaler is dead, and follow it again once it is back, %s",
    async (_what, name, spec) => {
      const stage = await Stage.open(cluster(), `killed-${name}`);
      await stage.deploy("search");
      stage.want(6, "search");
      const scaler = await stage.startScaler();
      await stage.scale("search", { spec });
      await stage.untilReplicas("a new ScaledObject is followed", { search: 6 });
      await eventually(
        "the HPA reads",
        async () => (await stage.hpaCondition("search", "ScalingActive")) === "True",
      );

      const seen = stage.watchReplicas("search");
      await scaler.kill("SIGKILL");
      // KEDA reconciles a changed spec at once, here while no scaler tells it the metric's name.
      const place = { resource: RESOURCES.scaledObjects, namespace: stage.namespace, name: "search" };
      await stage.api.patch(place, "merge", { spec: { minReplicaCount: 2 } });
      await eventually("the HPA says that it gets no metric", async () =>
        (await stage.hpaCondition("search", "ScalingActive"))?.includes("FailedGetExternalMetric"),
      );
      expect(await seen()).toEqual([6]);

      stage.want(8, "search");
      await stage.startScaler();
      await stage.untilReplicas(`${name}: followed again after the scaler's restart`, { search: 8 });
      expect(await stage.hpaMetrics("search")).toEqual([METRIC]);
      await eventually("KEDA is content", async () => (await stage.condition("search", "Ready")) === "True");
    },
  );

  it.each(OBJECTS)(
    "come to follow a scaler that is installed after its ScaledObject, %s",
    async (_what, name, spec) => {
      const stage = await Stage.open(cluster(), `early-${name}`);
      await stage.deploy("search", 2);
      await stage.scale("search", { spec });
      await eventually("KEDA says that the trigger fails", async () =>
        (await stage.condition("search", "Ready"))?.startsWith("False"),
      );
      expect((await stage.replicas()).get("search")).toBe(2);
      stage.want(5, "search");
      await stage.startScaler();
      await stage.untilReplicas(`${name}: a ScaledObject older than the scaler is followed`, { search: 5 });
      expect(await stage.hpaMetrics("search")).toEqual([METRIC]);
    },
  );

  it("speak mutual TLS to it, also after its certificate was renewed", async () => {
    const stage = await Stage.open(cluster(), "tls");
    const { install, paths } = await secretDirectory();
    const flags = [
      `--grpc-tls-cert=${paths.cert}`,
      `--grpc-tls-key=${paths.key}`,
      `--grpc-tls-ca=${paths.clientCa}`,
    ];
    await clientCertificate(stage);
    await stage.deploy("search");
    stage.want(3, "search");
    const scaler = await stage.startScaler(...flags);
    await stage.scale("search", { trigger: { authenticationRef: { name: "tradewind" } } });
    await stage.untilReplicas("mutual TLS: a new ScaledObject is followed", { search: 3 });

    await install("renewed");
    await eventually(
      "the renewed certificate is served",
      async () => (await servedName(`127.0.0.1:${stage.grpcPort}`)) === "tradewind scaler renewed",
    );
    // KEDA keeps its connection, so only a new one shows whether it takes the new certificate.
    await scaler.kill("SIGKILL");
    stage.want(7, "search");
    await stage.startScaler(...flags);
    await stage.untilReplicas("mutual TLS: followed with the renewed certificate", { search: 7 });
  });
});

/** KEDA's certificate, as docs/keda.md has it. */
async function clientCertificate({ api, namespace }: Stage): Promise<void> {
  const file = async (name: string): Promise<string> => readFile(fixture(name), "utf8");
  await create(
    api,
    { ...RESOURCES.services, plural: "secrets", kind: "Secret" },
    {
      metadata: { name: "tradewind-client", namespace },
      stringData: {
        "ca.crt": await file("authority.crt"),
        "tls.crt": await file("client.crt"),
        "tls.key": await file("client.key"),
      },
    },
  );
  const kind = { plural: "triggerauthentications", kind: "TriggerAuthentication" };
  await create(
    api,
    { ...RESOURCES.scaledObjects, ...kind },
    {
      metadata: { name: "tradewind", namespace },
      spec: {
        secretTargetRef: [
          { parameter: "caCert", name: "tradewind-client", key: "ca.crt" },
          { parameter: "tlsClientCert", name: "tradewind-client", key: "tls.crt" },
          { parameter: "tlsClientKey", name: "tradewind-client", key: "tls.key" },
        ],
      },
    },
  );
}
