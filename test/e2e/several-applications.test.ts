import { existsSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { expect, it, onTestFinished } from "vitest";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { failure, WireClient } from "../exporter/serve/keda/wire-client.ts";
import { waitUntil } from "../wait-until.ts";
import { command, TwoApplications } from "./two-applications.ts";

const ANY = "127.0.0.1:0";
const SEND_MS = 250;
/** Processes start slowly where the machine is busy. */
const PATIENCE_MS = 90_000;

const configuration = (name: string, namespace: string): string => `
name: ${name}
namespace: ${namespace}
entry: frontend
mode: act
objective: { milliseconds: 100, windowSeconds: 4 }
services: [{ name: frontend, maxReplicas: 9 }, { name: geo, maxReplicas: 9 }]
`;

/** A predictor and an exporter as processes, two applications, and their users. */
async function release() {
  const two = await TwoApplications.make("shop", "bank");
  await two.configure("shop.yaml", configuration("shop", "shop"));
  await two.configure("bank.yaml", configuration("desk", "bank"));
  const agent = await two.agent();
  const quiet = ["--log-level", "error"];
  const common = ["predictor", "--listen", ANY, "--otlp-listen", ANY, "--window", "2s", "--grace", "0.4s"];
  const own = [
    "--config",
    two.configs,
    "--workloads",
    two.workloads,
    "--agents",
    agent,
    "--state",
    two.state,
  ];
  const predictor = await command(...common, "--policy", "queue", ...own, ...quiet);
  const serve = [
    "exporter",
    "--listen",
    ANY,
    "--grpc-listen",
    ANY,
    "--restart-grace",
    "0s",
    "--watchdog",
    "0",
  ];
  const from = ["--predictor", predictor["http"]!, "--config", two.configs];
  const exporter = await command(...serve, ...from, ...quiet);
  const keda = new WireClient(exporter["grpc"]!);
  const users = setInterval(() => {
    void two.send(predictor["otlp"]!, "shop", 20, 300).catch(() => undefined);
    void two.send(predictor["otlp"]!, "bank", 5, 20).catch(() => undefined);
  }, SEND_MS);
  onTestFinished(() => {
    clearInterval(users);
    keda.close();
  });
  const ask = async (namespace: string, metadata: Record<string, string>) =>
    keda.metrics({ name: "x", namespace, metadata }, "m");
  const replicas = async (namespace: string, metadata: Record<string, string> = { service: "geo" }) =>
    ask(namespace, metadata).then(
      ([metric]) => metric?.int,
      () => undefined,
    );
  const refusal = async (namespace: string, metadata: Record<string, string> = { service: "geo" }) =>
    failure(ask(namespace, metadata));
  const text = async (url: string) => (await fetch(url)).text();
  const applications = async () =>
    ApplicationList.parse(JSON.parse(await text(`${predictor["http"]}/v1/applications`))).applications;
  const plan = async (namespace: string, name: string) =>
    Plan.parse(
      JSON.parse(await text(`${predictor["http"]}/v1/plan?namespace=${namespace}&application=${name}`)),
    );
  const list = async () =>
    RecommendationList.parse(JSON.parse(await text(`${exporter["http"]}/v1/recommendations`)));
  return { applications, exporter, list, plan, predictor, refusal, replicas, text, two };
}

it("two applications of one release are planned and scaled apart, and the end of one is none of the other's business", async () => {
  const { applications, exporter, list, plan, predictor, refusal, replicas, text, two } = await release();

  // The shop misses its objective and grows; the bank's desk, whose services have the same names, meets its own.
  await waitUntil(async () => Number(await replicas("shop")) > 2, PATIENCE_MS, "the shop grows");
  await waitUntil(async () => (await replicas("bank")) !== undefined, PATIENCE_MS, "the bank is planned");
  expect(await replicas("bank")).toBe(2);
  // A window of a busy machine can be without requests.
  const isMeasured = async () => (await plan("bank", "desk")).measuredLatencySeconds !== undefined;
  await waitUntil(isMeasured, PATIENCE_MS, "the bank is measured");
  expect((await plan("shop", "shop")).measuredLatencySeconds).toBeGreaterThan(0.2);
  expect((await plan("bank", "desk")).measuredLatencySeconds).toBeLessThan(0.1);
  const served = await list();
  expect(served.application).toBeUndefined();
  expect(served.applications?.map(({ name, namespace }) => `${namespace}/${name}`)).toEqual([
    "bank/desk",
    "shop/shop",
  ]);
  const asked = await text(`${predictor["http"]}/v1/plan`);
  expect(asked).toContain("bank/desk, shop/shop");
  const metrics = await text(`${predictor["http"]}/metrics`);
  expect(metrics).toMatch(/tradewind_predictor_plans_total\{[^}]*application="desk"[^}]*\} [1-9]/);
  expect(metrics).toMatch(/tradewind_predictor_plans_total\{[^}]*application="shop"[^}]*\} [1-9]/);

  // One that is broken has a problem, and is no problem.
  await two.configure("broken.yaml", "name: cart\nnamespace: shop\nentry: cart\n");
  await waitUntil(
    async () => (await applications()).some(({ state }) => state === "invalid"),
    PATIENCE_MS,
    "invalid",
  );
  const broken = (await applications()).find(({ state }) => state === "invalid");
  expect(broken?.problem).toContain("objective");
  expect(await text(`${predictor["http"]}/metrics`)).toMatch(/application_problem\{[^}]*broken.yaml"\} 1/);
  expect(await replicas("shop")).toBeGreaterThan(2);
  expect((await fetch(`${predictor["http"]}/readyz`)).status).toBe(200);
  await two.configure("broken.yaml", undefined);

  // A second one in a namespace has to be told from the first.
  const { sequence, predictorStartedAtMs } = await plan("shop", "shop");
  await two.configure(
    "cart.yaml",
    "{ name: cart, namespace: shop, entry: cart, objective: { milliseconds: 100 } }",
  );
  await waitUntil(async () => (await replicas("shop")) === undefined, PATIENCE_MS, "ambiguous");
  expect((await refusal("shop")).code).toBe(status.INVALID_ARGUMENT);
  expect((await refusal("shop")).details).toContain("the applications 'cart', 'shop'");
  expect(await replicas("shop", { service: "geo", application: "shop" })).toBeGreaterThan(2);
  expect(await replicas("bank")).toBe(2);
  await two.configure("cart.yaml", undefined);
  await waitUntil(async () => (await replicas("shop")) !== undefined, PATIENCE_MS, "the shop is alone again");

  // The bank's is deleted: its ScaledObject gets an error, so its HPA holds. The shop goes on as before.
  await two.configure("bank.yaml", undefined);
  await waitUntil(
    async () => (await replicas("bank")) === undefined,
    PATIENCE_MS,
    "the bank is not served any more",
  );
  const { code, details } = await refusal("bank");
  expect(code).toBe(status.UNAVAILABLE);
  expect(details).toContain("application 'desk' in namespace 'bank' was deleted");
  expect((await applications()).find(({ name }) => name === "desk")?.state).toBe("deleted");
  const later = (await plan("shop", "shop")).sequence;
  await waitUntil(
    async () => (await plan("shop", "shop")).sequence > later,
    PATIENCE_MS,
    "the shop is planned on",
  );
  const after = await plan("shop", "shop");
  expect(after.predictorStartedAtMs).toBe(predictorStartedAtMs);
  expect(after.sequence).toBeGreaterThan(sequence);
  expect(await replicas("shop")).toBeGreaterThan(2);
  expect(await text(`${exporter["http"]}/metrics`)).not.toMatch(/recommended_replicas\{application="desk"/);
  expect(await text(`${predictor["http"]}/metrics`)).not.toMatch(/plans_total\{[^}]*application="desk"/);
  // What it remembered is kept for the case that it comes back, and its spans are no other application's.
  expect(existsSync(join(two.state, "applications", "bank", "desk", "predictor-state.json"))).toBe(true);
  expect(await two.send(predictor["otlp"]!, "bank", 1, 20)).toBe(3);
}, 600_000);
