import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { deployment, podOf, replicaSet } from "../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../kubernetes/fake-api-server.ts";
import { waitUntil } from "../wait-until.ts";

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

const PATIENCE_MS = 60_000;
const NAMESPACES = ["shop", "bank"];
const ELECTION = { leaseSeconds: 2, renewDeadlineMs: 800, retryMs: 50 };

/** Two namespaces with a Deployment `web` each, and accounts with Roles in these two and nothing of the cluster. */
async function cluster() {
  const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
  const watched = (account: "predictor" | "scaler") =>
    NAMESPACES.map((namespace) => ({
      namespace,
      rules: rulesFor(account, "watched", ["workloads", "application", "events"]),
    }));
  fake.addUser("predictor", "predictor-token", watched("predictor"));
  const leader = { namespace: "tradewind", rules: rulesFor("scaler", "own", ["leader"]) };
  fake.addUser("scaler", "scaler-token", [...watched("scaler"), leader]);
  for (const namespace of NAMESPACES) {
    fake.put(RESOURCES.deployments, deployment("web", { namespace, uid: `deployment-${namespace}` }));
  }
  fake.put(RESOURCES.replicaSets, replicaSet("web-abc12", "web"));
  for (const index of [0, 1]) fake.put(RESOURCES.pods, podOf("web", index));
  const folder = await mkdtemp(join(tmpdir(), "tradewind-several-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const kubeconfigOf = async (user: string): Promise<string> => {
    const path = join(folder, user);
    const server = {
      server: fake.url,
      "certificate-authority-data": pem("authority.crt").toString("base64"),
    };
    await writeFile(
      path,
      JSON.stringify({
        "current-context": "here",
        contexts: [{ name: "here", context: { cluster: "one", user, namespace: "tradewind" } }],
        clusters: [{ name: "one", cluster: server }],
        users: [{ name: user, user: { token: `${user}-token` } }],
      }),
    );
    return path;
  };
  return { fake, kubeconfigOf };
}

const put = (fake: FakeApiServer, namespace: string, name: string, spec: object = {}): void => {
  fake.put(RESOURCES.applications, {
    metadata: { name, namespace, uid: `application-${namespace}-${name}` },
    spec: { entry: "web", objective: { milliseconds: 100 }, mode: "act", ...spec },
  });
};

it("the Applications of two namespaces are planned with Roles in these, and each one's status says how it is", async () => {
  const { fake, kubeconfigOf } = await cluster();
  put(fake, "shop", "hotel");
  const predictor = await startPredictor({
    config: NAMESPACES.map((namespace) => `crd:${namespace}/*`),
    workloads: "kubernetes",
    kubeconfig: await kubeconfigOf("predictor"),
    listen: "127.0.0.1:0",
    otlpListen: "127.0.0.1:0",
    windowSeconds: 1,
    graceSeconds: 0.1,
    policy: "static",
    logLevel: "silent",
  });
  onTestFinished(async () => predictor.stop());
  const exporter = await startExporter(
    {
      listen: "127.0.0.1:0",
      grpcListen: "127.0.0.1:0",
      predictor: predictor.addresses["http"]!,
      application: NAMESPACES.map((namespace) => `crd:${namespace}/*`),
      pollMs: 100,
      restartGrace: 0,
      logLevel: "silent",
      cluster: {
        status: true,
        events: true,
        identity: "scaler-0",
        namespace: "tradewind",
        reconcileMs: 100,
        kubeconfig: await kubeconfigOf("scaler"),
      },
    },
    { cluster: { election: ELECTION } },
  );
  onTestFinished(async () => exporter.stop());
  const applications = async () => {
    const answer = await fetch(`${predictor.addresses["http"]}/v1/applications`);
    return answer.ok ? ApplicationList.parse(await answer.json()).applications : [];
  };
  const condition = (namespace: string, name: string, wanted: string) => {
    const status = fake.find(RESOURCES.applications, namespace, name)?.status as
      ApplicationStatus | undefined;
    const found = status?.conditions.find(({ type }) => type === wanted);
    return found && `${found.reason}: ${found.message}`;
  };
  const ready = (namespace: string, name: string) => condition(namespace, name, "Ready");
  const until = async (what: string, condition: () => boolean | Promise<boolean>) =>
    waitUntil(condition, PATIENCE_MS, what);

  await until("the first is planned", () => ready("shop", "hotel")?.startsWith("Planning") === true);
  put(fake, "bank", "desk");
  await until("the second is planned", () => ready("bank", "desk")?.startsWith("Planning") === true);

  // Both namespaces have a Deployment `web`, and the first one's application had the name first.
  const taken = () => condition("bank", "desk", "DataComplete")?.startsWith("NameTaken: ") === true;
  await until("the newcomer is told that the name is taken", taken);
  expect(condition("shop", "hotel", "DataComplete")).not.toContain("Name");
  const told = () =>
    fake.list(RESOURCES.events).filter(({ reason }) => reason === "NameTaken" || reason === "NameShared");
  await until("an event on the newcomer's Application", () => told().length > 0);
  expect(told().map(({ regarding }) => regarding)).toMatchObject([{ name: "desk", namespace: "bank" }]);

  // The API server checks less than the predictor: a service twice is found here only.
  const twice = { services: [{ name: "x" }, { name: "x" }] };
  put(fake, "bank", "wrong", twice);
  await until("an invalid one says so", () => ready("bank", "wrong")?.includes("listed twice") === true);
  put(fake, "bank", "desk", twice);
  await until("one that became invalid says so", () => ready("bank", "desk")?.startsWith("Invalid") === true);
  const desk = (await applications()).find(({ name }) => name === "desk");
  expect(desk).toMatchObject({
    state: "planned",
    problem: expect.stringContaining("listed twice") as string,
  });
  expect(ready("shop", "hotel")).toMatch(/^Planning/);
  put(fake, "bank", "desk");
  await until("it is right again", () => ready("bank", "desk")?.startsWith("Planning") === true);

  fake.remove(RESOURCES.applications, "bank", "desk");
  const isDeleted = async () =>
    (await applications()).some(({ name, state }) => name === "desk" && state === "deleted");
  await until("it is deleted", isDeleted);
  const plan = async () => {
    const answer = await fetch(`${predictor.addresses["http"]}/v1/plan`);
    return (await answer.json()) as { application: string; sequence: number };
  };
  // The one that is left needs no name.
  const { application, sequence } = await plan();
  expect(application).toBe("hotel");
  await until("the other is planned on", async () => (await plan()).sequence > sequence);
  // What tells of nodes lies outside of the namespaces.
  const refused = new Set(fake.refused.map(({ resource, namespace }) => `${namespace ?? ""} ${resource}`));
  expect([...refused].sort()).toEqual([" nodepools", " nodes", " pods", "kube-system configmaps"]);
}, 300_000);
