import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../free-port.ts";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Run {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
}

function run(...flags: string[]): Run {
  const child = spawn(process.execPath, [PROGRAM, "predictor", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return { child, out: () => out, err: () => err };
}

describe("tradewind predictor", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "prints one ready line, logs to stderr, and ends with 0 on %s",
    async (signal) => {
      const application = await RunningApplication.start();
      const listen = ["--listen", "127.0.0.1:0", "--otlp-listen", "127.0.0.1:0"];
      const sources = ["--agents", application.agent.url, "--workloads", application.workloads];
      const { child, out, err } = run(
        "--config",
        application.config,
        ...listen,
        ...sources,
        "--window",
        "2s",
      );
      await waitUntil(() => out().endsWith("\n"));
      const ready: unknown = JSON.parse(out());
      expect(ready).toEqual({
        process: "predictor",
        ready: true,
        addresses: {
          http: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
          otlp: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
        },
      });
      child.kill(signal);
      await waitUntil(() => child.exitCode !== null);
      expect(child.exitCode).toBe(0);
      expect(out().split("\n")).toHaveLength(2);
      expect(err()).toContain("the predictor is up");
      await application.stop();
    },
  );

  it.each(["SIGTERM", "SIGINT"] as const)(
    "ends with 0 on %s while it waits for an application and no API server answers",
    async (signal) => {
      const folder = await mkdtemp(join(tmpdir(), "tradewind-waiting-"));
      onTestFinished(async () => rm(folder, { recursive: true, force: true }));
      const kubeconfig = join(folder, "kubeconfig");
      const server = `https://127.0.0.1:${await freePort()}`;
      await writeFile(
        kubeconfig,
        JSON.stringify({
          "current-context": "here",
          contexts: [{ name: "here", context: { cluster: "dead", user: "predictor" } }],
          clusters: [{ name: "dead", cluster: { server } }],
          users: [{ name: "predictor", user: { token: "predictor-token" } }],
        }),
      );
      const listen = `127.0.0.1:${await freePort()}`;
      const { child, out } = run(
        "--config",
        "crd:shop/hotel",
        "--kubeconfig",
        kubeconfig,
        "--listen",
        listen,
      );
      const isWaiting = async (): Promise<boolean> =>
        fetch(`http://${listen}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await waitUntil(isWaiting);
      child.kill(signal);
      await waitUntil(() => child.exitCode !== null, 5_000);
      expect(child.exitCode).toBe(0);
      expect(out()).toBe("");
    },
  );

  it("ends with 2 and says what is wrong with the configuration", async () => {
    const { child, out, err } = run("--config", "/nowhere.yaml", "--listen", "127.0.0.1:0");
    await waitUntil(() => child.exitCode !== null);
    expect(child.exitCode).toBe(2);
    expect(out()).toBe("");
    expect(err()).toContain("/nowhere.yaml");
  });

  it.each(["http", "otlp"])("refuses --%s-tls-key without a certificate, naming both flags", async (port) => {
    const { child, err } = run("--config", "x", `--${port}-tls-key`, "tls.key");
    await waitUntil(() => child.exitCode !== null);
    expect(child.exitCode).toBe(2);
    expect(err()).toContain(`give --${port}-tls-cert and --${port}-tls-key together`);
  });

  it("explains a wrong flag", async () => {
    const { child, err } = run("--config", "x", "--window", "soon");
    await waitUntil(() => child.exitCode !== null);
    expect(child.exitCode).toBe(2);
    expect(err()).toContain("'soon' is not a duration");
  });

  it.each([
    ["plan", "policy 'plan' was removed; use 'auto'"],
    ["best", 'expected one of "auto"|"queue"|"static"'],
  ])("refuses policy '%s' and names those there are", async (policy, message) => {
    const { child, err } = run("--config", "x", "--policy", policy);
    await waitUntil(() => child.exitCode !== null);
    expect(child.exitCode).toBe(2);
    expect(err()).toContain(message);
  });
});
