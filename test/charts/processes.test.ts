import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { configure as agent } from "@tradewind/agent/command.ts";
import { configure as exporter } from "@tradewind/exporter/command.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { configure as inject } from "@tradewind/local/inject/command.ts";
import { configure as predictor } from "@tradewind/predictor/command.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import { describe, expect, it } from "vitest";
import { at, CASES, helm, render } from "./helm.ts";

const PROCESSES: Readonly<Record<string, (command: Command) => void>> = {
  agent,
  exporter,
  inject,
  predictor,
};

/** Reads a command line as the process would, without starting it. @throws CommanderError with what is not understood */
function understand([process = "", ...flags]: readonly string[]): Record<string, unknown> {
  const command = new Command(process).exitOverride().configureOutput({ writeErr: () => undefined });
  PROCESSES[process]!(command);
  command.action(() => undefined);
  command.parse(flags, { from: "user" });
  return command.opts();
}

describe.skipIf(helm === undefined)("what the chart tells the processes", () => {
  it.each(CASES)("%s: every flag is understood", async (name) => {
    const containers = (await render(name)).flatMap(
      (object) => (at(object, "spec", "template", "spec", "containers") ?? []) as { args: string[] }[],
    );
    expect(containers.length).toBeGreaterThan(0);
    for (const { args } of containers) expect(understand(args)).toBeDefined();
  });

  it.each(CASES)("%s: every address is one that the processes can follow", async (name) => {
    const options = (await render(name))
      .flatMap(
        (object) => (at(object, "spec", "template", "spec", "containers") ?? []) as { args: string[] }[],
      )
      .map(({ args }) => ({ process: args[0], options: understand(args) }));
    for (const { process, options: given } of options) {
      if (process === "exporter") ExporterOptions.parse({ predictor: given["predictor"] });
      if (process === "predictor") {
        PredictorOptions.parse({ config: given["config"], agents: given["agents"], peers: given["peers"] });
      }
    }
    expect(options.map(({ process }) => process)).toContain("exporter");
  });

  it("means that an unknown flag is refused", () => {
    expect(() => understand(["exporter", "--keda-please"])).toThrow("unknown option '--keda-please'");
  });

  it.each(CASES)("%s: the application's file is taken by the predictor", async (name) => {
    const objects = await render(name);
    const files = objects
      .filter(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "tradewind-application")
      .flatMap((object) => Object.entries(at(object, "data") as Record<string, string>));
    const directory = mkdtempSync(join(tmpdir(), "tradewind-app-"));
    try {
      for (const [file, text] of files) {
        const path = join(directory, file);
        writeFileSync(path, text);
        const isWhole = file === "app.yaml";
        expect((isWhole ? await readApplication(path) : { entry: "frontend" }).entry).toBe("frontend");
        expect((await readSections(path)).store.rawDays).toBeGreaterThan(0);
      }
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
    const hasPredictor = JSON.stringify(objects).includes('"name":"predictor"');
    expect(files.length > 0).toBe(hasPredictor);
  });
});
