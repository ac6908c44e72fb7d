import { Command } from "commander";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { autoscalerChecks, configure } from "@tradewind/exporter/commands/ready.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { runningExporter } from "../running-exporter.ts";
import { planning } from "../several-applications.ts";

async function run(...args: readonly string[]): Promise<{ text: string; exitCode: unknown }> {
  let text = "";
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((part) => {
    text += String(part);
    return true;
  });
  const before = process.exitCode;
  onTestFinished(() => {
    process.exitCode = before;
    spy.mockRestore();
  });
  const command = new Command().exitOverride();
  configure(command);
  try {
    await command.parseAsync(args, { from: "user" });
  } finally {
    spy.mockRestore();
  }
  return { text, exitCode: process.exitCode };
}

describe("tradewind ready", () => {
  it("says what is not met yet with its numbers, exits with 3, and names --application where there are several", async () => {
    const exporter = await runningExporter(undefined);
    const applications = ["bank", "shop"].map((name) => ({ name, latencySeconds: 0.1, frontendReplicas: 2 }));
    exporter.predictor.behave(planning(applications));
    await exporter.listWhen("decisions of both", ({ recommendations }) => recommendations.length === 6);
    await expect(run("--scaler", exporter.http)).rejects.toThrow(/--application NAME.*bank\/bank/);
    const { exitCode, text } = await run("--scaler", exporter.http, "--application", "shop");
    expect(exitCode).toBe(3);
    expect(text).toMatch(
      /^shop\/shop: not yet, because requests were seen for 4 min of the last 24 h; level 'queue'/,
    );
    expect(text).toMatch(/ok {7}each of 3 services has a maximum of its own/);
    const json: unknown = JSON.parse(
      (await run("--scaler", exporter.http, "--application", "shop", "--json")).text,
    );
    expect(json).toMatchObject({ application: "shop", isSafe: false });
  });

  const scaledObject = (name: string, spec: object) =>
    ScaledObject.parse({
      metadata: { name, namespace: "shop", uid: name },
      spec: {
        scaleTargetRef: { name },
        triggers: [{ type: "external", metadata: { service: name, scalerAddress: "tradewind:9813" } }],
        ...spec,
      },
    });
  const hpa = (name: string) =>
    HorizontalPodAutoscaler.parse({
      metadata: { name: "own", namespace: "shop", uid: "own" },
      spec: { scaleTargetRef: { kind: "Deployment", name }, maxReplicas: 5 },
    });

  it("finds an HPA on the same workload, and a ScaledObject without a fallback", () => {
    const withFallback = scaledObject("cart", { fallback: { failureThreshold: 3, replicas: 2 } });
    expect(autoscalerChecks([withFallback], []).map(({ isMet }) => isMet)).toEqual([true, true]);
    expect(autoscalerChecks([withFallback], [hpa("cart")])).toMatchObject([
      {
        code: "autoscalers",
        isMet: false,
        text: expect.stringContaining("cart: scaled by HPA 'own' too") as string,
      },
      { code: "fallback", isMet: true },
    ]);
    expect(autoscalerChecks([scaledObject("cart", {})], [])).toMatchObject([
      { isMet: true },
      { code: "fallback", isMet: false, facts: { without: 1 } },
    ]);
    expect(autoscalerChecks([], [hpa("cart")])).toMatchObject([{ isMet: false }, { isMet: true }]);
  });
});
