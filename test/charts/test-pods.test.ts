import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { secretDirectory } from "../exporter/serve/keda/secret.ts";
import { runningExporter } from "../exporter/running-exporter.ts";
import { at, find, helm, render } from "./helm.ts";

type Case = "minimal" | "mtls-secret";

/** Runs what a pod of `helm test` runs, as it is rendered. */
async function helmTest(name: Case, pod: string, env: Readonly<Record<string, string>>) {
  const object = find(await render(name), "Pod", `tradewind-${pod}`);
  const [program, ...flags] = at(object, "spec", "containers", 0, "command") as string[];
  const [script] = at(object, "spec", "containers", 0, "args") as [string];
  const given = at(object, "spec", "containers", 0, "env") as { name: string; value: string }[];
  const own = Object.fromEntries(given.map((each) => [each.name, each.value]));
  expect(program).toBe("node");
  const child = spawn(process.execPath, [...flags, script], { env: { ...process.env, ...own, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  return once(child, "close").then(([code]) => ({ code: code as number, output }));
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe.skipIf(helm === undefined)("a pod of helm test", () => {
  it("asks each process again until it answers", async () => {
    const asked: string[] = [];
    const server = createHttpServer(({ url = "" }, response) => {
      response.writeHead(asked.includes(url) ? 200 : 503).end("text");
      asked.push(url);
    });
    const port = await listen(server);
    const urls = ["/readyz", "/metrics"].map((path) => `http://127.0.0.1:${port}${path}`);
    const { code, output } = await helmTest("minimal", "test-http", { URLS: urls.join(" ") });
    expect(output.trim().split("\n").sort()).toEqual([`200 ${urls[1]}`, `200 ${urls[0]} text`]);
    expect(code).toBe(0);
    expect(asked).toHaveLength(4);
  });

  it("fails when a process does not answer in time, and names it", async () => {
    const port = await listen(createHttpServer((_request, response) => response.writeHead(503).end("no")));
    const url = `http://127.0.0.1:${port}/readyz`;
    const { code, output } = await helmTest("minimal", "test-http", { URLS: url, PATIENCE_SECONDS: "0" });
    expect({ code, output }).toEqual({ code: 1, output: `503 ${url} no\n` });
  });

  it.each([
    ["asks the scaler as KEDA does", "minimal", false, "answers GetMetricSpec"],
    ["looks whether the scaler speaks TLS", "mtls-secret", true, "speaks TLS as tradewind scaler"],
  ] as const)("%s, again after it was hung up on", async (_what, name, isSecured, text) => {
    const early = createServer((socket) => {
      socket.destroy();
      early.close();
    });
    const port = await listen(early);
    const closed = once(early, "close");
    const result = helmTest(name, "test-scaler", { SCALER: `127.0.0.1:${port}` });
    await closed;
    const tls = isSecured ? { tls: (await secretDirectory()).paths } : {};
    await runningExporter(undefined, { grpcListen: `127.0.0.1:${port}`, ...tls });
    const { code, output } = await result;
    expect(output).toContain(`127.0.0.1:${port}: ${text}`);
    expect(code).toBe(0);
  });

  it("have 60 s, and end before the kubelet ends them", async () => {
    for (const pod of ["test-http", "test-scaler"]) {
      const object = find(await render("minimal"), "Pod", `tradewind-${pod}`);
      const env = at(object, "spec", "containers", 0, "env");
      expect(env).toContainEqual({ name: "PATIENCE_SECONDS", value: "60" });
      expect(at(object, "spec", "activeDeadlineSeconds")).toBeGreaterThan(60 + 10);
    }
  });
});
