import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { exporterProcess } from "../../exporter-process.ts";
import { answering, fakePredictor } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { cluster, statusOf } from "../../controller/scene/shop-cluster.ts";
import { until } from "../../until.ts";
import { answered, answers, ask, keptPlaces, order, overridesOf, planned, tokenOf } from "./overriding.ts";

/** A scaler in this process; KEDA is answered 5 of `search`, 4 of `pay`, and 3 of each run. */
async function scaler(input: ExporterInput = {}): Promise<TestExporter & { readonly state: string }> {
  const { httpTokenFile, state } = keptPlaces();
  const exporter = await runningExporter(undefined, { httpTokenFile, state, ...input });
  exporter.predictor.serve(planned(5));
  await answers(exporter.client, "search", 5);
  return { ...exporter, state };
}

/** Serves a plan, and waits until it is in force, as another service shows. */
async function afterPlan({ client, predictor }: TestExporter, search: number, pay: number): Promise<void> {
  predictor.serve(planned(search, pay));
  await answers(client, "pay", pay);
}

interface Scenario {
  readonly title: string;
  readonly run: () => Promise<void>;
}

const ORDERED: readonly Scenario[] = [
  {
    title: "pause of a service: KEDA gets the current replica count, and the others go on",
    run: async () => {
      const exporter = await scaler();
      await order(exporter.http, { kind: "pause", name: "search" });
      await answers(exporter.client, "search", 3);
      await afterPlan(exporter, 9, 6);
      expect(await answered(exporter.client, "search")).toBe(3);
    },
  },
  {
    title: "pause of an application: KEDA gets the current replica count of all its services",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "pause", name: "hotel" });
      await answers(client, "search", 3);
      await answers(client, "pay", 3);
    },
  },
  {
    title: "pause of everything: KEDA gets the current replica count",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "pause" });
      await answers(client, "search", 3);
      await answers(client, "pay", 3);
    },
  },
  {
    title: "hold of a service as it is: the plan moves the others only",
    run: async () => {
      const exporter = await scaler();
      await order(exporter.http, { kind: "hold", name: "search" });
      await afterPlan(exporter, 9, 7);
      await afterPlan(exporter, 1, 5);
      expect(await answered(exporter.client, "search")).toBe(5);
    },
  },
  {
    title:
      "hold at named sizes: replicas and containers are those, and VPA's and resize's side reads the same",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "hold", name: "search", replicas: "8", cpuCores: "1.5" });
      await answers(client, "search", 8);
      const { recommendations } = RecommendationList.parse(
        await (await ask(http, "/v1/recommendations")).json(),
      );
      expect(recommendations.find(({ service }) => service === "search")).toMatchObject({
        replicas: 8,
        cpuCores: 1.5,
        memoryBytes: 200e6,
        override: { kind: "hold", by: "ann" },
      });
    },
  },
  {
    title: "hold of fewer replicas in the minutes after a start: a person does not wait for the grace",
    run: async () => {
      const { client, http } = await scaler({ restartGrace: 600 });
      await order(http, { kind: "hold", name: "search", replicas: "2" });
      await answers(client, "search", 2);
    },
  },
  {
    title: "floor: adds to a plan of fewer, and leaves one of more",
    run: async () => {
      const exporter = await scaler();
      await order(exporter.http, { kind: "floor", name: "search", replicas: "8" });
      await answers(exporter.client, "search", 8);
      await afterPlan(exporter, 12, 6);
      await answers(exporter.client, "search", 12);
    },
  },
  {
    title: "undo of a service: what ran before the last change, held against the next plan",
    run: async () => {
      const exporter = await scaler();
      await afterPlan(exporter, 9, 6);
      await answers(exporter.client, "search", 9);
      await order(exporter.http, { kind: "undo", name: "search" });
      await answers(exporter.client, "search", 5);
      await afterPlan(exporter, 12, 7);
      expect(await answered(exporter.client, "search")).toBe(5);
    },
  },
  {
    title: "undo of an application: what ran before the last change of each service",
    run: async () => {
      const exporter = await scaler();
      await afterPlan(exporter, 9, 6);
      await order(exporter.http, { kind: "undo", name: "hotel" });
      await answers(exporter.client, "search", 5);
      await answers(exporter.client, "pay", 4);
    },
  },
  {
    title: "release: the plan decides again at once",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "hold", name: "search", replicas: "8" });
      await answers(client, "search", 8);
      await order(http, { kind: "release", name: "search" });
      await answers(client, "search", 5);
    },
  },
  {
    title: "the end of its time: the plan decides again without being asked",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "hold", name: "search", replicas: "8", forSeconds: "1.5" });
      await answers(client, "search", 8);
      await answers(client, "search", 5);
      expect(await overridesOf(http)).toMatchObject([{ ended: { how: "expired" } }]);
    },
  },
  {
    title: "a newer order on the same service: it counts, and the older is shown as replaced",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "hold", name: "search", replicas: "8" });
      await order(http, { kind: "hold", name: "search", replicas: "6" });
      await answers(client, "search", 6);
      expect(await overridesOf(http)).toMatchObject([{ kind: "hold" }, { ended: { how: "replaced" } }]);
    },
  },
  {
    title: "an order on a service under one on its application: the nearer counts",
    run: async () => {
      const { client, http } = await scaler();
      await order(http, { kind: "hold", name: "search", replicas: "8" });
      await order(http, { kind: "pause", name: "hotel" });
      await answers(client, "pay", 3);
      expect(await answered(client, "search")).toBe(8);
    },
  },
  {
    title: "a change that waits for approval: what a person holds needs no other person",
    run: async () => {
      const places = keptPlaces();
      const config = join(places.state, "app.yaml");
      writeFileSync(
        config,
        "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, approval: {}}",
      );
      const exporter = await runningExporter(undefined, { ...places, application: config });
      exporter.predictor.serve(planned(9));
      await answers(exporter.client, "pay", 4);
      expect(await answered(exporter.client, "search")).toBe(3);
      await order(exporter.http, { kind: "hold", name: "search", replicas: "9" });
      await answers(exporter.client, "search", 9);
    },
  },
  {
    title:
      "a predictor that is dead: the order counts all the same, and outlives the age of its measurements",
    run: async () => {
      const { client, http, predictor } = await scaler({ staleAfter: 1.5 });
      await predictor.stop();
      await order(http, { kind: "hold", name: "search", replicas: "8" });
      await answers(client, "search", 8);
      await until("a service that nobody holds to be too old", async () => {
        return (await answered(client, "pay")) === undefined;
      });
      expect(await answered(client, "search")).toBe(8);
    },
  },
];

const OUTLIVED: readonly Scenario[] = [
  {
    title: "kill -9 right after the answer of the command, and a predictor that is dead at the next start",
    run: async () => {
      const { httpTokenFile, state } = keptPlaces();
      const predictor = await fakePredictor(planned(5));
      const before = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(before.client, "search", 5);
      await order(before.http, { kind: "hold", name: "search", replicas: "8" });
      await before.kill("SIGKILL");
      await predictor.stop();
      const after = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(after.client, "search", 8);
    },
  },
  {
    title: "a restart in which its time ran out: the plan decides again",
    run: async () => {
      const { httpTokenFile, state } = keptPlaces();
      const predictor = await fakePredictor(planned(5));
      const before = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(before.client, "search", 5);
      await order(before.http, { kind: "hold", name: "search", replicas: "8", forSeconds: "1" });
      await before.kill("SIGTERM");
      const after = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(after.client, "search", 5);
      await predictor.stop();
    },
  },
  {
    title: "a restart during a pause: KEDA gets the current replica count, also by the next plan",
    run: async () => {
      const { httpTokenFile, state } = keptPlaces();
      const predictor = await fakePredictor(planned(5));
      const before = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(before.client, "search", 5);
      await order(before.http, { kind: "pause" });
      await answers(before.client, "search", 3);
      await before.kill("SIGTERM");
      predictor.serve(planned(9));
      const after = await exporterProcess(predictor, state, "--http-token-file", httpTokenFile);
      await answers(after.client, "search", 3);
      await until("the next plan", () => predictor.requests() > 6);
      expect(await answered(after.client, "search")).toBe(3);
      await predictor.stop();
    },
  },
  {
    title: "the command itself, given two scalers: both answer by it, also once one of them has ended",
    run: async () => {
      const [one, other] = [await scaler(), await scaler()];
      const tokenFile = join(one.state, "token");
      writeFileSync(tokenFile, tokenOf("ann"));
      const program = fileURLToPath(new URL("../../../../cli/main.ts", import.meta.url));
      const urls = `${one.http},${other.http}`;
      const words = ["hold", "search", "--replicas", "8", "--for", "10m", "--reason", "watching it"];
      const command = spawn(
        process.execPath,
        [program, ...words, "--scaler", urls, "--token-file", tokenFile],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      let text = "";
      command.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
      expect((await once(command, "exit"))[0]).toBe(0);
      expect(text).toMatch(
        /shop\/search +in force +held \(8 replicas\) by ann until \d\d:\d\d UTC: watching it/,
      );
      await answers(one.client, "search", 8);
      await one.running.stop();
      await answers(other.client, "search", 8);
    },
  },
];

const BY_ANNOTATION = (kind: object): Record<string, string> => ({
  "tradewind.dev/override": JSON.stringify({
    until: new Date(Date.now() + 3_600_000).toISOString(),
    reason: "watching it",
    ...kind,
  }),
});

const ACTING = {
  metadata: { name: "hotel", namespace: "shop" },
  spec: { entry: "search", objective: { milliseconds: 200 }, mode: "act" },
};

const IN_A_CLUSTER: readonly Scenario[] = [
  {
    title: "an annotation of the Application, which a GitOps controller takes back: it stays until its end",
    run: async () => {
      const { exporter, fake } = await cluster(["status", "events"]);
      fake.put(RESOURCES.applications, ACTING);
      const { client, http, predictor } = await exporter(planned(5), "scaler-0", {
        application: "crd:shop/hotel",
      });
      await answers(client, "search", 5);
      await until("the leader's first look", () =>
        statusOf(fake)?.services.some(({ workload }) => workload !== undefined),
      );
      const annotate = (annotations: Record<string, string>): void => {
        const { metadata, spec } = fake.find(RESOURCES.applications, "shop", "hotel")!;
        fake.put(RESOURCES.applications, { metadata: { ...metadata, annotations }, spec });
      };
      annotate(BY_ANNOTATION({ kind: "hold", service: "search", replicas: 8, by: "ann" }));
      await answers(client, "search", 8);
      annotate({});
      predictor.serve(planned(9, 6));
      await answers(client, "pay", 6);
      expect(await answered(client, "search")).toBe(8);
      const { overrides } = (await (await fetch(`${http}/v1/overrides`)).json()) as { overrides: unknown[] };
      expect(overrides).toMatchObject([{ by: "ann (annotation)", kind: "hold" }]);
      await until(
        "an event",
        () => fake.list(RESOURCES.events).some(({ reason }) => reason === "OverrideBegun"),
        60_000,
      );
    },
  },
  {
    title: "an annotation of a workload, which the predictor passes on: KEDA is answered by it",
    run: async () => {
      const { client, http, predictor } = await scaler();
      const { "tradewind.dev/override": text = "" } = BY_ANNOTATION({ kind: "hold", replicas: 8, by: "ann" });
      const plan = planned(9, 6);
      predictor.behave((request, response) =>
        answering(
          JSON.stringify(
            request.method === "POST" ? { overrides: [], annotated: [{ service: "search", text }] } : plan,
          ),
        )(request, response),
      );
      await answers(client, "search", 8);
      await answers(client, "pay", 6);
      expect(await overridesOf(http)).toMatchObject([
        { kind: "hold", by: "ann (annotation)", target: { application: "hotel", service: "search" } },
      ]);
    },
  },
  {
    title: "a controller that resets the spec of the Application: the order stays, its new bounds count",
    run: async () => {
      const { exporter, fake } = await cluster(["status"]);
      const { httpTokenFile, state } = keptPlaces();
      const spec = { ...ACTING.spec, services: { search: { maxReplicas: 20 } } };
      fake.put(RESOURCES.applications, { ...ACTING, spec });
      const { client, http, predictor } = await exporter(undefined, "scaler-0", {
        application: "crd:shop/hotel",
        httpTokenFile,
        state,
      });
      predictor.serve(planned(5));
      await answers(client, "search", 5);
      await order(http, { kind: "hold", name: "search", replicas: "8" });
      await answers(client, "search", 8);
      fake.put(RESOURCES.applications, ACTING);
      predictor.serve(planned(9, 6));
      await answers(client, "pay", 6);
      expect(await answered(client, "search")).toBe(8);
    },
  },
  {
    title: "a change of the leader: the one that is left answers and writes by it",
    run: async () => {
      const { exporter, fake } = await cluster(["status", "vpa"]);
      fake.put(RESOURCES.applications, ACTING);
      const start = async (identity: string): Promise<TestExporter> => {
        const started = await exporter(undefined, identity, {
          application: "crd:shop/hotel",
          ...keptPlaces(),
        });
        started.predictor.serve(planned(5));
        await answers(started.client, "search", 5);
        return started;
      };
      const [leader, other] = [await start("scaler-0"), await start("scaler-1")];
      const id = "0123456789";
      for (const { http } of [leader, other])
        await order(http, { kind: "hold", name: "search", replicas: "8", id });
      await answers(leader.client, "search", 8);
      await leader.running.stop();
      other.predictor.serve(planned(9, 6));
      await answers(other.client, "pay", 6);
      expect(await answered(other.client, "search")).toBe(8);
      const status = () =>
        (fake.find(RESOURCES.applications, "shop", "hotel")?.status ?? {}) as {
          services?: { name: string; replicas: number }[];
        };
      await until("the new leader's status", () =>
        status().services?.some(({ name, replicas }) => name === "search" && replicas === 8),
      );
    },
  },
];

describe.each([
  ["an order", ORDERED],
  ["an order outlives", OUTLIVED],
  ["in a cluster an order outlives", IN_A_CLUSTER],
])("%s", (_what, scenarios) => {
  it.each(scenarios.map(({ run, title }) => [title, run] as const))("%s", async (_title, run) => run());
});
