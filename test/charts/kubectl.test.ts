import { describe, expect, it } from "vitest";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { findRelease, portOf } from "@tradewind/kubernetes/port-forward/scaler-pods.ts";
import { FakeApiServer } from "../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../kubernetes/fake-objects.ts";
import { at, CASES, helm, render } from "./helm.ts";

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
    const args = JSON.stringify(template);
    expect(portOf(pods[0]!, "scaler")).toMatchObject({ pod: "tradewind-scaler-0", port: 9812 });
    if (args.includes('"predictor"')) expect(portOf(pods[0]!, "predictor").port).toBe(9811);
    else expect(() => portOf(pods[0]!, "predictor")).toThrow(/has no predictor/);
  });
});
