import { expect, it, onTestFinished } from "vitest";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { answers, keptPlaces, order, overridesOf } from "../exporter/decide/override/overriding.ts";
import { WireClient } from "../exporter/serve/keda/wire-client.ts";
import { freePort } from "../free-port.ts";
import { RunningApplication } from "../predictor/running-application.ts";
import { waitUntil } from "../wait-until.ts";

it("two scalers keep to what one was told, and the predictor plans around it until it is over", async () => {
  const application = await RunningApplication.start();
  onTestFinished(async () => application.stop());
  const http = await freePort();
  const predictor = await startPredictor({
    config: application.config,
    workloads: application.workloads,
    agents: [application.agent.url],
    listen: `127.0.0.1:${http}`,
    otlpListen: "127.0.0.1:0",
    windowSeconds: 2,
    graceSeconds: 0.4,
    policy: "queue",
    logLevel: "silent",
    agentPollMs: 200,
  });
  onTestFinished(async () => predictor.stop());
  const sending = setInterval(
    () => void application.sendTraces(predictor.addresses["otlp"]!, 5, 300).catch(() => undefined),
    100,
  );
  onTestFinished(() => clearInterval(sending));
  const scalers = [];
  for (const _ of [0, 1]) {
    const running = await startExporter({
      listen: "127.0.0.1:0",
      grpcListen: "127.0.0.1:0",
      predictor: `http://127.0.0.1:${http}`,
      restartGrace: 0,
      pollMs: 200,
      logLevel: "silent",
      ...keptPlaces(),
    });
    const client = new WireClient(running.addresses["grpc"]!);
    onTestFinished(async () => {
      client.close();
      await running.stop();
    });
    scalers.push({ client, http: running.addresses["http"]! });
  }
  const [one, other] = scalers as [(typeof scalers)[0], (typeof scalers)[0]];
  await waitUntil(
    async () => (await order(one.http, { kind: "hold", name: "geo", replicas: "7" })).status === 200,
    20_000,
    "the first decisions",
  );
  const namespace = (await overridesOf(one.http))[0]!.target.namespace!;
  await answers(one.client, "geo", 7, namespace);
  await waitUntil(
    async () => (await overridesOf(other.http)).length > 0,
    5_000,
    "the second scaler to hear what the first was told",
  );
  await answers(other.client, "geo", 7, namespace);
  expect(await overridesOf(other.http)).toMatchObject([
    { by: "ann", kind: "hold", target: { service: "geo" } },
  ]);
  const planned = async (): Promise<number | undefined> => {
    const plan = (await (await fetch(`http://127.0.0.1:${http}/v1/plan`)).json()) as Plan;
    return plan.wishes.find(({ service }) => service === "geo")?.allocation.replicas;
  };
  await waitUntil(async () => (await planned()) === 7, 20_000, "a plan of what is held");
  await order(other.http, { kind: "release", name: "geo" });
  await waitUntil(
    async () => (await overridesOf(one.http))[0]?.ended?.how === "released",
    5_000,
    "the first scaler to hear that it is over",
  );
});
