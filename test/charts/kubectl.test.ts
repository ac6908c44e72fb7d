import { describe, expect, it } from "vitest";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { findRelease, portOf } from "@tradewind/kubernetes/port-forward/scaler-pods.ts";
import { FakeApiServer } from "../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../kubernetes/fake-objects.ts";
import { at, CASES, helm, render } from "./helm.ts";

const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe.skipIf(helm === undefined)("kubectl tradewind", () => {
  it.each(CASES)("finds the scaler's pods and ports in the chart with %s", async (name) => {
    const objects = await render(name);
    const scaler = objects.find(
      (each) => at(each, "metadata", "name") === "tradewind-scaler" && at(each, "spec", "template"),
    );
    const template = at(scaler, "spec", "template") as KubeObject;
    const fake = await FakeApiServer.start();
    const metadata = { ...template.metadata, name: "tradewind-scaler-0", namespace: "tradewind", uid: "1" };
    fake.put(RESOURCES.pods, { ...template, metadata, status: { phase: "Running" } });
    const client = new ApiClient(fake.connection());
    const { pods } = await findRelease(client, {});
    await client.close();
    expect(portOf(pods[0]!, "scaler")).toMatchObject({ pod: "tradewind-scaler-0", port: 9812 });
    const hasPredictor = JSON.stringify(template).includes('"name":"predictor"');
    const asked = (): number => portOf(pods[0]!, "predictor").port;
    const refusal =
      "TradewindError: pod tradewind/tradewind-scaler-0 has no predictor (container 'predictor', port 'predictor')";
    expect(hasPredictor ? asked() : String(caught(asked))).toBe(hasPredictor ? 9811 : refusal);
  });
});
