import { Command } from "commander";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/log.ts";
import { configure } from "@tradewind/predictor/command.ts";
import { LearningMetrics } from "@tradewind/predictor/learning/metrics.ts";
import { announceEngine } from "@tradewind/predictor/learning/start.ts";
import { PredictorOptions } from "@tradewind/predictor/options.ts";

describe("the engine of training", () => {
  it("is a metric and one line of the log, a warning with its reason when another was asked for", async () => {
    const said: unknown[] = [];
    const note =
      (level: string) =>
      (facts: object, _message: string): void =>
        void said.push({ level, ...facts });
    const log = Object.assign(Object.create(createLog("test", "silent")) as ReturnType<typeof createLog>, {
      info: note("info"),
      warn: note("warn"),
    });
    const registry = new Registry();
    const announce = announceEngine({ log, metrics: new LearningMetrics(registry) });
    const lines = async (): Promise<string[]> =>
      (await registry.metrics())
        .split("\n")
        .filter((line) => line.startsWith("tradewind_predictor_training_engine_info"));
    expect(await lines()).toEqual([]);
    for (let thread = 0; thread < 3; thread += 1)
      announce({ engine: "wasm", problem: "node: not installed" });
    expect(await lines()).toEqual(['tradewind_predictor_training_engine_info{engine="wasm"} 1']);
    announce({ engine: "cpu" });
    expect(await lines()).toEqual(['tradewind_predictor_training_engine_info{engine="cpu"} 1']);
    expect(said).toEqual([
      { level: "warn", engine: "wasm", problem: "node: not installed" },
      { level: "info", engine: "cpu" },
    ]);
  });

  it("is chosen by flag or environment, the flag first, and auto without either", () => {
    const chosen = (flags: readonly string[]): unknown => {
      const command = new Command("predictor").exitOverride().configureOutput({ writeErr: () => undefined });
      configure(command);
      command.action(() => undefined);
      command.parse(["--config", "app.yaml", ...flags], { from: "user" });
      return PredictorOptions.parse({
        config: "app.yaml",
        trainingEngine: command.opts()["trainingEngine"] as "auto",
      }).trainingEngine;
    };
    expect(chosen([])).toBe("auto");
    expect(chosen(["--training-engine", "cpu"])).toBe("cpu");
    process.env["TRADEWIND_TRAINING_ENGINE"] = "node";
    onTestFinished(() => void delete process.env["TRADEWIND_TRAINING_ENGINE"]);
    expect(chosen([])).toBe("node");
    expect(chosen(["--training-engine", "wasm"])).toBe("wasm");
    expect(() => chosen(["--training-engine", "gpu"])).toThrow(/gpu/);
  });
});
