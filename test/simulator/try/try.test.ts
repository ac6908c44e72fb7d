import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { configurationOfText } from "@tradewind/kubernetes/application/file.ts";
import { diurnalWeek } from "@tradewind/simulator/course/obstacles/diurnal-week.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { tradewind } from "../../cli/tradewind.ts";
import { installed } from "../../installed.ts";
import { startPrometheus } from "../../predictor/sources/prometheus/metric-servers.ts";
import { push } from "../../predictor/sources/prometheus/remote-write.ts";
import { FakeApiServer } from "../../kubernetes/fake-api-server.ts";
import { stretched, windowsOf } from "./recorded-week.ts";
import { byHour, FAMILIES, recordedSeries } from "./series.ts";

const MINUTE_MS = 60_000;
const prometheus = installed("prometheus");

let simulated: Awaited<ReturnType<typeof windowsOf>>;
let folder: string;
beforeAll(async () => {
  simulated = await windowsOf(obstacleOf(diurnalWeek(300)), 41);
  folder = mkdtempSync(join(tmpdir(), "tradewind-try-"));
});
/** Three hours of the shop, an hour per quarter that was simulated, that ended twenty minutes ago: nothing is there now. */
function shopOfToday(): readonly WindowSet[] {
  return stretched(simulated, MINUTE_MS, (Math.floor(Date.now() / MINUTE_MS) - 20) * MINUTE_MS);
}
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An API server with the shop's Deployments and a Prometheus, whose port leads to a real one; and a kubeconfig for it. */
async function clusterWith(sets: readonly WindowSet[], prometheusUrl: string): Promise<string> {
  const fake = await FakeApiServer.start();
  onTestFinished(async () => fake.stop());
  for (const { service } of sets[0]!.windows) {
    const labels = { app: service };
    fake.put(RESOURCES.deployments, {
      metadata: { name: service, namespace: "shop", uid: service },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: service, image: `${service}:1` }] } },
      },
    });
    fake.put(RESOURCES.services, {
      metadata: { name: service, namespace: "shop", uid: `${service}-service` },
      spec: { selector: labels, ports: [{ port: 80 }] },
    });
  }
  const labels = { "app.kubernetes.io/name": "prometheus" };
  fake.put(RESOURCES.services, {
    metadata: { name: "metrics", namespace: "monitoring", uid: "metrics", labels },
    spec: { selector: labels, ports: [{ name: "web", port: 9090, targetPort: "web" }] },
  });
  fake.put(RESOURCES.pods, {
    metadata: { name: "metrics-0", namespace: "monitoring", uid: "metrics-0", labels },
    spec: { containers: [{ name: "prometheus", ports: [{ name: "web", containerPort: 9090 }] }] },
    status: { phase: "Running" },
  });
  fake.forwards.set("monitoring/metrics-0:9090", Number(new URL(prometheusUrl).port));
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "one", user: "me" } }],
    clusters: [{ name: "one", cluster: { server: fake.url } }],
    users: [{ name: "me", user: { token: "admin-token" } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return kubeconfig;
}

it("tradewind try --demo replays an incident without any cluster, and writes over nothing", async () => {
  const output = join(folder, "demo");
  const first = await tradewind("try", "--demo", "--output", output);
  expect(first).toEqual({ ...first, code: 0 });
  expect(first.stdout).toMatch(/Tradewind +simulated/);
  const page = readFileSync(join(output, "index.html"), "utf8");
  const again = await tradewind("try", "--demo", "--output", output);
  expect(again).toMatchObject({ code: 2, stdout: "" });
  expect(again.stderr).toContain("move them away");
  expect(readFileSync(join(output, "index.html"), "utf8")).toBe(page);
});

it.each([
  [[], "give one of --prometheus"],
  [["--demo", "--prometheus", "http://127.0.0.1:1"], "give one of --prometheus"],
  [["--prometheus", "nonsense"], "--prometheus"],
  [["--recording", "no-such-folder"], "no-such-folder cannot be read"],
  [["--demo", "--objective", "250"], "has no unit"],
])("tradewind try refuses %j with exit code 2 and says what to give", async (args, words) => {
  const { code, stderr } = await tradewind("try", ...args, "--output", join(folder, "refused"));
  expect({ code, stderr }).toEqual({ code: 2, stderr });
  expect(stderr).toContain(words);
});

describe("tradewind try on a real Prometheus", () => {
  it.skipIf(prometheus === undefined)(
    "finds Prometheus in the cluster by a kubeconfig alone, and writes the address that pods use",
    async () => {
      const server = await startPrometheus(prometheus ?? "");
      onTestFinished(async () => server.stop());
      const some = shopOfToday().slice(-10);
      for (const part of byHour(recordedSeries(some, FAMILIES["istio"]!, "front"), some))
        await push(server.url, part);
      const output = join(folder, "cluster");
      const words = `try --kubeconfig ${await clusterWith(some, server.url)} --namespace shop --from 4h --output ${output} --json`;
      const { code, stderr, stdout } = await tradewind(...words.split(" "));
      expect({ code, stderr }).toEqual({ code: 0, stderr });
      const answer = JSON.parse(stdout) as { entry: string; unreplayed: string };
      expect(answer.entry).toBe("front");
      expect(answer.unreplayed).toContain("needs 20");
      expect(readFileSync(join(output, "values.yaml"), "utf8")).toContain(
        "url: http://metrics.monitoring.svc:9090\n",
      );
    },
  );

  it.skipIf(prometheus === undefined).each(Object.keys(FAMILIES))(
    "finds the shop by %s metrics, says what would have happened, and writes what to apply",
    async (family) => {
      const server = await startPrometheus(prometheus ?? "");
      const output = join(folder, family);
      const sets = shopOfToday();
      try {
        for (const part of byHour(recordedSeries(sets, FAMILIES[family]!, "front"), sets))
          await push(server.url, part);
        await server.settled();
        const words = `try --prometheus ${server.url} --namespace shop --from 4h --output ${output} --json`;
        const { code, stderr, stdout } = await tradewind(...words.split(" "));
        expect({ code, stderr }).toEqual({ code: 0, stderr });
        const answer = JSON.parse(stdout) as {
          entry: string;
          source: string;
          services: string[];
          objectiveFrom: string;
          unreplayed?: string;
          report?: { policies: { policy: string; range: unknown[] }[]; routes: unknown[] };
        };
        expect(answer).toMatchObject({ entry: "front", objectiveFrom: "measured" });
        expect(answer.source).toContain(family);
        expect(answer.services).toContain("search");
        // An ingress knows the entry and nothing behind it: what to apply, and no replay.
        const isReplayed = family !== "nginx";
        expect(answer.unreplayed?.includes("metrics tell of the entry alone") ?? false).toBe(!isReplayed);
        expect(answer.report?.policies.map(({ policy, range }) => [policy, range.length])).toEqual(
          isReplayed
            ? [
                ["hpa-cpu", 2],
                ["tradewind-auto", 2],
              ]
            : undefined,
        );
        expect(answer.report?.routes.length).toBe(isReplayed ? 1 : undefined);
        const page = readFileSync(join(output, "index.html"), "utf8");
        expect(page).not.toMatch(/<script|https?:\/\/(?!127\.0\.0\.1)[a-z]/);
        const text = readFileSync(join(output, "1-observe", "application.yaml"), "utf8");
        expect(configurationOfText(text, "application.yaml")).toMatchObject({ entry: "front" });
        const back = parseAllDocuments(
          readFileSync(join(output, "back", "horizontal-pod-autoscalers.yaml"), "utf8"),
        ).map((document) => document.toJS() as { spec: object });
        expect(back).toHaveLength(6);
        expect(back[0]!.spec).toMatchObject({
          maxReplicas: 60,
          metrics: [{ type: "Resource", resource: { name: "cpu", target: { averageUtilization: 60 } } }],
        });
      } finally {
        await server.stop();
      }
    },
  );
});
