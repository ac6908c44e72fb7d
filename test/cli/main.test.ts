import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "@tradewind/core/process/version.ts";
import { tradewind } from "./tradewind.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");

describe("the tradewind command", () => {
  it("teaches with --help: every command, in groups, and examples", async () => {
    const { code, stdout } = await tradewind("--help");
    expect(code).toBe(0);
    for (const text of ["On one machine:", "Processes, one for each image:", "Examples:", "Exit codes:"]) {
      expect(stdout).toContain(text);
    }
    for (const command of ["local", "agent", "predictor", "scaler"]) {
      expect(stdout).toMatch(new RegExp(`^  ${command}[ |]`, "m"));
    }
  });

  it.each([["--help"], ["exporter", "--help"], ["--version"]])(
    "ends quietly with code 0 when nobody reads what '%s' prints, as `| head -1` does not",
    async (...args) => {
      const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
      child.stdout.destroy();
      let complaint = "";
      child.stderr.on("data", (text: Buffer) => {
        complaint += text.toString();
      });
      const [code] = (await once(child, "close")) as [number | null];
      expect({ code, complaint }).toEqual({ code: 0, complaint: "" });
    },
  );

  it("shows the same without any argument", async () => {
    expect((await tradewind()).stdout).toBe((await tradewind("--help")).stdout);
  });

  it("prints its version alone", async () => {
    expect(await tradewind("--version")).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("takes `exporter`, the scaler's older name, for the scaler", async () => {
    expect((await tradewind("exporter", "--help")).stdout).toBe((await tradewind("scaler", "--help")).stdout);
  });

  it("ends doctor with code 2 where it was given nothing to examine", async () => {
    const { code, stdout } = await tradewind("doctor");
    expect({ code, stdout }).toMatchObject({
      code: 2,
      stdout: expect.stringContaining("nothing to examine") as string,
    });
  });

  it("suggests the nearest command for an unknown one, with code 2", async () => {
    const { code, stderr } = await tradewind("scalr");
    expect(code).toBe(2);
    expect(stderr).toContain("unknown command 'scalr'");
    expect(stderr).toContain("Did you mean scaler?");
  });

  it.each(["local", "agent", "predictor", "scaler"])(
    "explains the options of %s with an example",
    async (name) => {
      const { code, stdout } = await tradewind(name, "--help");
      expect(code).toBe(0);
      expect(stdout).toContain(`tradewind ${name}`);
      expect(stdout).toContain("Examples:");
    },
  );

  it.each([
    { args: ["local", "--for", "soon"], names: "'soon' is not a duration" },
    { args: ["local", "--for", "1s"], names: "--for must be between" },
    {
      args: ["local", "--policy", "magic"],
      names: "write one of auto, queue, static, students, hpa:PERCENT, keda-rps:RATE",
    },
    { args: ["local", "--seed", "many"], names: "seed" },
    {
      args: ["local", "--load", "/nowhere/rates.txt"],
      names: "cannot read the load file /nowhere/rates.txt",
    },
    { args: ["local", "--fro", "3s"], names: "Did you mean --for?" },
    { args: ["doctor", "--timeout", "soon"], names: "'soon' is not a number of seconds" },
    { args: ["doctor", "--predictor", "nowhere"], names: "predictor: Invalid URL" },
    { args: ["init", "--manifests", "/nowhere"], names: "cannot read /nowhere" },
    { args: ["predictor", "--config", "/nowhere/app.yaml"], names: "/nowhere/app.yaml cannot be read" },
  ])("refuses $args with code 2 and says why", async ({ args, names }) => {
    const { code, stderr } = await tradewind(...args);
    expect(stderr).toContain(names);
    expect(stderr, "an error in words, not the issues of a schema").not.toContain('"message"');
    expect(code).toBe(2);
  });
});
