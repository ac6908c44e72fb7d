import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { COMMANDS } from "@tradewind/cli/commands.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { installed } from "../installed.ts";
import { FakeApiServer } from "../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../kubernetes/fake-objects.ts";
import { RunningRelease } from "./running-release.ts";
import { tradewind } from "./tradewind.ts";
import type { Result } from "./tradewind.ts";

const kubectl = installed("kubectl");
const pem = (name: string): Buffer => readFileSync(join(import.meta.dirname, "..", "fixtures", "tls", name));

/** A pod as the chart makes it, as far as it is read here. */
function scalerPod(name: string, release = "tradewind", namespace = "tradewind", isReady = true): KubeObject {
  return {
    metadata: {
      name,
      namespace,
      uid: `${namespace}-${name}`,
      labels: {
        "app.kubernetes.io/part-of": "tradewind",
        "app.kubernetes.io/component": "scaler",
        "app.kubernetes.io/instance": release,
      },
    },
    spec: {
      containers: [
        { name: "exporter", ports: [{ name: "http", containerPort: 9812 }] },
        { name: "predictor", ports: [{ name: "predictor", containerPort: 9811 }] },
      ],
    },
    status: {
      phase: isReady ? "Running" : "Pending",
      conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
    },
  };
}

const listPods = { apiGroups: [""], resources: ["pods"], verbs: ["list"] };

describe("kubectl tradewind", { timeout: 60_000 }, () => {
  let release: RunningRelease;

  beforeAll(async () => {
    release = await RunningRelease.start();
  }, 60_000);
  afterAll(async () => release.stop());

  /** An API server with these pods, whose ports lead to the release, and a kubeconfig for it. */
  async function cluster(pods: readonly KubeObject[], token = "admin-token") {
    const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
    for (const pod of pods) {
      fake.put(RESOURCES.pods, pod);
      const of = `${pod.metadata.namespace}/${pod.metadata.name}`;
      fake.forwards.set(`${of}:9812`, Number(new URL(release.scalerUrl).port));
      fake.forwards.set(`${of}:9811`, Number(new URL(release.predictorUrl).port));
    }
    const folder = await mkdtemp(join(tmpdir(), "tradewind-kubectl-"));
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    const kubeconfig = join(folder, "config");
    const authority = pem("authority.crt").toString("base64");
    await writeFile(
      kubeconfig,
      `apiVersion: v1
kind: Config
current-context: here
contexts: [{ name: here, context: { cluster: one, user: me, namespace: shop } }]
clusters: [{ name: one, cluster: { server: "${fake.url}", certificate-authority-data: ${authority} } }]
users: [{ name: me, user: { token: ${token} } }]
`,
    );
    const run = async (...args: readonly string[]): Promise<Result> =>
      tradewind("kubectl", "--kubeconfig", kubeconfig, ...args);
    return { fake, folder, kubeconfig, run };
  }
  const forwarded = (fake: FakeApiServer): string[] => [
    ...new Set(
      fake.calls
        .filter(({ resource }) => resource === "pods/portforward")
        .map(({ name, query }) => `${name}:${query.get("ports")}`),
    ),
  ];

  it("finds the scaler by its labels in any namespace, and shows what it recommends", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a")]);
    const there = await run("status", "--json");
    expect(there).toMatchObject({ code: 0, stderr: "" });
    const names = (text: string): unknown[] =>
      (JSON.parse(text) as { recommendations: { service: string }[] }).recommendations.map(
        (each) => each.service,
      );
    const here = await tradewind("status", "--scaler", release.scalerUrl, "--json");
    expect(names(there.stdout)).toEqual(names(here.stdout));
    expect(names(there.stdout)).toContain("geo");
    expect(forwarded(fake)).toEqual(["scaler-a:9812"]);
  });

  it("asks the predictor, both or every scaler, as the command does", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a"), scalerPod("scaler-b")]);
    expect((await run("what-if", "--service", "geo", "--replicas", "+1")).stdout).toMatch(
      /^geo +\d+ → \d+ /m,
    );
    expect(forwarded(fake)).toEqual(["scaler-a:9811"]);
    expect((await run("report", "--json")).code).toBe(0);
    expect(forwarded(fake)).toEqual(["scaler-a:9811", "scaler-a:9812"]);
    expect((await run("approve")).stdout).toBe("No change waits for a person.\n");
    expect(forwarded(fake)).toContain("scaler-b:9812");
  });

  it("looks in 'tradewind' and the context's namespace where it may not list all pods", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a")], "reader-token");
    const rules = [listPods, { apiGroups: [""], resources: ["pods/portforward"], verbs: ["get", "create"] }];
    fake.addUser("reader", "reader-token", [{ namespace: "tradewind", rules }]);
    expect(await run("status", "--json")).toMatchObject({ code: 0, stderr: "" });
  });

  it("names the missing right where this user may not port-forward", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a")], "reader-token");
    fake.addUser("reader", "reader-token", [{ rules: [listPods] }]);
    const { code, stderr } = await run("status");
    expect(stderr).toBe(
      "tradewind: cannot port-forward to pod tradewind/scaler-a: this user needs the verbs get and create on pods/portforward; kubectl --namespace tradewind auth can-i create pods/portforward checks it\n",
    );
    expect(code).toBe(1);
  });

  it("names the missing right where this user may list no pods", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a")], "reader-token");
    fake.addUser("reader", "reader-token", []);
    const { code, stderr } = await run("status");
    expect(stderr).toContain(
      "no scaler pod of Tradewind in 'shop' or 'tradewind' (this user may not list pods",
    );
    expect(code).toBe(1);
    expect((await run("-n", "tradewind", "status")).stderr).toMatch(
      /403 to list pods in namespace 'tradewind'/,
    );
  });

  it("says that no pod is there, and where it looked", async () => {
    const { run } = await cluster([]);
    const { code, stderr } = await run("explain");
    expect(stderr).toContain("no scaler pod of Tradewind in any namespace; name its namespace with -n");
    expect(code).toBe(1);
    expect((await run("-n", "shop", "explain")).stderr).toContain("in namespace 'shop'");
  });

  it("says that no scaler pod runs, and how to see why", async () => {
    const { run } = await cluster([scalerPod("scaler-a", "tradewind", "tradewind", false)]);
    expect((await run("status")).stderr).toContain(
      "none of the 1 scaler pods of release 'tradewind' runs; see why: kubectl --namespace tradewind describe pods",
    );
  });

  it("asks for a choice among several releases, and takes one", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a"), scalerPod("scaler-b", "staging", "test")]);
    const { code, stderr } = await run("status");
    expect(stderr).toContain("there are several releases: test/staging, tradewind/tradewind; choose one");
    expect(code).toBe(2);
    expect((await run("--release", "staging", "status")).code).toBe(0);
    expect((await run("-n", "test", "status")).code).toBe(0);
    expect(forwarded(fake)).toEqual(["scaler-b:9812"]);
  });

  it("asks the next pod where the first does not answer", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a"), scalerPod("scaler-b")]);
    fake.forwards.delete("tradewind/scaler-a:9811");
    expect((await run("what-if", "--service", "geo", "--replicas", "+1")).stdout).toMatch(
      /^geo +\d+ → \d+ /m,
    );
    expect(forwarded(fake)).toEqual(["scaler-a:9811", "scaler-b:9811"]);
  });

  it("says that nothing listens in the pod, beside what the command makes of it", async () => {
    const { fake, run } = await cluster([scalerPod("scaler-a")]);
    fake.forwards.clear();
    const { code, stderr } = await run("status");
    expect(stderr).toContain("pod tradewind/scaler-a: connection refused in the network of the pod");
    expect(code).toBe(1);
  });

  it("refuses commands that ask no cluster, and an unknown context", async () => {
    const { run } = await cluster([scalerPod("scaler-a")]);
    const local = await run("local");
    expect(local.stderr).toContain(
      "'local' is not asked of a cluster: kubectl tradewind runs doctor, status,",
    );
    expect(local.code).toBe(2);
    const elsewhere = await run("--context", "nowhere", "status");
    expect(elsewhere.stderr).toContain("no cluster for context 'nowhere'");
    expect(elsewhere.code).toBe(2);
  });

  it("says where its own flags stand when they follow the command", async () => {
    const { run } = await cluster([scalerPod("scaler-a")]);
    const { code, stderr } = await run("status", "-n", "tradewind");
    expect(stderr).toContain("unknown option '-n'");
    expect(stderr).toContain("-n, --context and --release stand before 'status'");
    expect(code).toBe(2);
  });

  it.skipIf(kubectl === undefined)("is a plugin of the real kubectl", async () => {
    const { folder, kubeconfig } = await cluster([scalerPod("scaler-a")]);
    const plugin = join(import.meta.dirname, "..", "..", "bin", "kubectl-tradewind.mjs");
    await symlink(plugin, join(folder, "kubectl-tradewind"));
    const env = {
      ...process.env,
      KUBECONFIG: kubeconfig,
      PATH: [folder, join(process.execPath, ".."), process.env["PATH"]].join(delimiter),
    };
    const { stdout } = await promisify(execFile)("kubectl", ["tradewind", "status"], { env });
    expect(stdout).toMatch(/^geo /m);
    const help = await promisify(execFile)("kubectl", ["tradewind", "what-if", "--help"], { env });
    expect(help.stdout).toMatch(/^Usage: kubectl tradewind what-if \[options\]/);
  });

  it("shows the console until it is ended", async () => {
    const { kubeconfig } = await cluster([scalerPod("scaler-a")]);
    const program = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");
    const child = execFile(process.execPath, [
      program,
      "kubectl",
      "--port",
      "0",
      "--kubeconfig",
      kubeconfig,
      "console",
    ]);
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const line = await new Promise<string>((resolve) => child.stdout!.once("data", resolve));
    const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(line)?.[0];
    expect(await (await fetch(url!)).text()).toContain("<title>");
    child.kill("SIGINT");
    expect(await ended).toBe(0);
  });
});

it.each(COMMANDS.filter(({ asks }) => asks !== undefined))(
  "$name has the flags that kubectl tradewind sets",
  async ({ asks, load }) => {
    const { Command } = await import("commander");
    const command = new Command();
    (await load()).configure(command);
    const flags = command.options.map(({ long }) => long);
    for (const asked of Object.keys(asks ?? {})) expect(flags).toContain(`--${asked}`);
  },
);
