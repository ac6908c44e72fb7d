import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CHART, helm, runHelm, valuesOf } from "../../charts/helm.ts";
import { until } from "../../exporter/until.ts";
import { measured } from "../measured.ts";
import { certManagerSecrets, givenObjects } from "./given-objects.ts";
import { nodeCluster, PATIENCE_MS, TIMEOUT_MS } from "./node.ts";

const node = helm === undefined ? undefined : nodeCluster();
const NAMESPACES = ["tradewind", "shop", "bank", "payments", "monitoring"];

/** Every value file but `default`, whose scaler answers without an application and says so, and what each is upgraded to. */
const RELEASES = [
  ["minimal", "mtls-generated"],
  ["mtls-generated", "minimal"],
  ["resource", "observe"],
  ["observe", "minimal"],
  ["namespaces", "minimal"],
  ["no-agent", "minimal"],
  ["mtls-secret", "minimal"],
  ["secured", "minimal"],
  ["mtls-selfsigned", "mtls-certmanager"],
  ["mtls-certmanager", "minimal"],
  ["inject", "minimal"],
  ["full", "minimal"],
] as const;

/** Their certificates come from cert-manager, which does not run here. */
const OF_CERT_MANAGER: ReadonlySet<string> = new Set(["mtls-selfsigned", "mtls-certmanager", "full"]);

/** They switch the tests of the chart off. */
const WITHOUT_TESTS: ReadonlySet<string> = new Set(["no-agent"]);

/** Images that were built here; and the waits for KEDA's next look-up of addresses, which nobody does here, are left out. */
const HERE = [
  "--set=global.image.registry=localhost",
  "--set=agent.image.digest=",
  "--set=predictor.image.registry=",
  "--set=predictor.image.tag=",
  "--set=inject.node=node-1",
  "--set=inject.seconds=5",
  "--set=scaler.minReadySeconds=3",
  "--set=scaler.preStopSleepSeconds=1",
  "--set=scaler.resources.requests.cpu=10m",
  "--set=predictor.resources.requests.cpu=10m",
];

describe.skipIf(node === undefined)("a release on a real node", { timeout: TIMEOUT_MS }, () => {
  const { apply, kubeconfig, kubectl } = node ?? {
    kubeconfig: "",
    kubectl: async () => Promise.resolve(""),
    apply: async () => Promise.resolve(),
  };
  let volumes: string;
  beforeAll(async () => {
    for (const name of NAMESPACES) await kubectl("create", "namespace", name).catch(() => undefined);
    volumes = await mkdtemp("/var/lib/tradewind-volumes-");
    for (const object of givenObjects(volumes)) await apply(object);
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const name of NAMESPACES) await kubectl("delete", "namespace", name, "--ignore-not-found");
    await kubectl("delete", "persistentvolume", "--selector=tradewind-test=volume", "--wait=false");
    await rm(volumes, { recursive: true, force: true });
  }, TIMEOUT_MS);

  /** Runs Helm to its end and keeps how long it took. */
  const succeeds = async (what: string, ...args: readonly string[]): Promise<string> => {
    const startedMs = performance.now();
    const { ok, stderr, stdout } = await runHelm(
      ...args,
      "--namespace=tradewind",
      `--kubeconfig=${kubeconfig}`,
      "--timeout=8m",
    );
    expect(ok, `${what}: ${stderr}${stdout}${await pods()}`).toBe(true);
    measured(`helm ${what}`, (performance.now() - startedMs) / 1e3);
    return stdout;
  };
  const owned = async (): Promise<string> => kubectl("get", "all", "--namespace=tradewind", "--output=name");
  const pods = async (): Promise<string> => kubectl("get", "pods", "--namespace=tradewind", "--output=wide");
  const values = (name: string): string[] => [CHART, `--values=${valuesOf(name)}`, ...HERE, "--wait"];

  /** Secrets of Certificates are there until the test is over. */
  const playCertManager = async (): Promise<void> => {
    const { names, objects } = certManagerSecrets();
    for (const object of objects) await apply(object);
    onTestFinished(async () => void (await kubectl("delete", "secret", "--namespace=tradewind", ...names)));
  };

  it.each(RELEASES)(
    "with the values %s becomes ready, passes its tests at once, becomes %s and what it was, and leaves nothing",
    async (name, other) => {
      onTestFinished(async () => {
        await runHelm(
          "uninstall",
          "tradewind",
          "--namespace=tradewind",
          `--kubeconfig=${kubeconfig}`,
          "--wait",
        );
      });
      if (OF_CERT_MANAGER.has(name)) await playCertManager();
      await succeeds(`install ${name}`, "install", "tradewind", ...values(name));
      const tested = await succeeds(`test ${name} right after`, "test", "tradewind");
      expect(tested).toContain(WITHOUT_TESTS.has(name) ? "TEST SUITE: None" : "Succeeded");
      await succeeds(`upgrade ${name} to ${other}`, "upgrade", "tradewind", ...values(other));
      await succeeds(`test ${other} after the upgrade`, "test", "tradewind");
      await succeeds(`rollback to ${name}`, "rollback", "tradewind", "1", "--wait");
      await succeeds(`test ${name} after the rollback`, "test", "tradewind");
      await succeeds(`uninstall ${name}`, "uninstall", "tradewind", "--wait");
      // Pods that are stopping still finish; Helm does not wait for them.
      await until("nothing of it is left", async () => (await owned()) === "", PATIENCE_MS);
    },
  );
});
