import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAgent } from "@tradewind/agent/agent.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import type { Running } from "@tradewind/core/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { until } from "../exporter/until.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { RunningApplication } from "../predictor/running-application.ts";
import { ask, idleConnections } from "./idle.ts";

interface Door {
  readonly httpTokenFile?: string;
  readonly allowedHosts?: string[];
}
interface Process {
  readonly start: (door: Door) => Promise<Running>;
  /** What a client wants of it. */
  readonly path: string;
  /** Connections that it once took before it refused all others. */
  readonly connections: number;
}

const ANY = "127.0.0.1:0";
const LISTEN = { listen: ANY, probeListen: ANY };

/** Each process as it runs, with its ports. */
const PROCESSES: Record<string, Process> = {
  agent: {
    start: async (door) =>
      startAgent(AgentOptions.parse({ ...LISTEN, ...door, inventory: false, logLevel: "silent" })),
    path: "/v1/snapshot",
    connections: 64,
  },
  predictor: {
    start: async (door) => {
      const application = await RunningApplication.start();
      onTestFinished(async () => application.stop());
      const { config } = application;
      return startPredictor({ ...LISTEN, ...door, otlpListen: ANY, config, logLevel: "silent" });
    },
    path: "/metrics",
    connections: 256,
  },
  exporter: {
    start: async (door) => {
      const predictor = await fakePredictor(planOf([wishOf()]));
      onTestFinished(async () => predictor.stop());
      return startExporter({
        ...LISTEN,
        ...door,
        grpcListen: ANY,
        predictor: predictor.url,
        logLevel: "silent",
      });
    },
    path: "/",
    connections: 512,
  },
};

async function started({ start }: Process, door: Door = {}): Promise<{ http: string; probe: string }> {
  const running = await start(door);
  onTestFinished(async () => running.stop());
  const { http, probe } = running.addresses;
  return { http: http!, probe: probe! };
}

const statusOf = async (asked: ReturnType<typeof ask>): Promise<number> => (await asked).status;

describe.each(Object.entries(PROCESSES))("the %s", (_name, process) => {
  it(`answers probes and new clients beside ${process.connections} idle connections of one client`, async () => {
    const { http, probe } = await started(process);
    const page = `${http}${process.path}`;
    await until("a first answer", async () => (await statusOf(ask(page))) === 200);
    await idleConnections(page, process.connections, "127.0.0.2");
    expect(await statusOf(ask(`${probe}/healthz`, { from: "127.0.0.3" }))).toBe(200);
    expect(await statusOf(ask(page, { from: "127.0.0.3" }))).toBe(200);
    expect(await statusOf(ask(page, { from: "127.0.0.2" }))).toBe(200);
    expect(await statusOf(ask(`${http}/healthz`, { from: "127.0.0.4" }))).toBe(200);
  });

  it("answers probes while their own port is full of connections that say nothing", async () => {
    const { probe } = await started(process);
    const { port } = new URL(probe);
    for (let index = 0; index < 100; index += 1) {
      const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress: "127.0.0.2" });
      socket.on("error", () => undefined).resume();
      onTestFinished(() => void socket.destroy());
    }
    for (let index = 0; index < 5; index += 1) {
      expect(await statusOf(ask(`${probe}/healthz`))).toBe(200);
    }
    expect(await statusOf(ask(`${probe}/metrics`))).toBe(404);
  });

  it("is not read under a name that somebody else's DNS gives it (rebinding), but by its own names", async () => {
    const { http, probe } = await started(process, { allowedHosts: ["tradewind.example.com"] });
    const { port } = new URL(http);
    const named = async (name: string, path = process.path): Promise<number> =>
      statusOf(ask(`${http}${path}`, { headers: { host: `${name}:${port}` } }));
    await until("a first answer", async () => (await named("127.0.0.1")) === 200);
    expect(await named("evil.example.com")).toBe(421);
    expect(await named("tradewind-http.tradewind.svc.evil.example.com")).toBe(421);
    for (const name of [
      "[::1]",
      "localhost",
      "tradewind-http",
      "tradewind-http.tradewind.svc",
      "a.b.svc.cluster.local",
      "Tradewind.Example.com",
    ]) {
      expect(await named(name)).toBe(200);
    }
    expect(await named("evil.example.com", "/healthz")).toBe(200);
    expect(await statusOf(ask(`${probe}/healthz`, { headers: { host: "evil.example.com" } }))).toBe(200);
  });

  it("with a token answers nobody but probes who does not show it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-token-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const httpTokenFile = join(directory, "token");
    await writeFile(httpTokenFile, "open-sesame\n");
    const { http } = await started(process, { httpTokenFile });
    const page = `${http}${process.path}`;
    const showing = (authorization: string): ReturnType<typeof ask> =>
      ask(page, { headers: { authorization } });
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
    await until("a first answer", async () => (await statusOf(showing("Bearer open-sesame"))) === 200);
    expect(await statusOf(showing(basic("anybody:open-sesame")))).toBe(200);
    for (const wrong of ["Bearer open", "Bearer open-sesame1", basic("open-sesame:"), "x"]) {
      expect(await statusOf(showing(wrong))).toBe(401);
    }
    expect((await ask(page)).headers["www-authenticate"]).toMatch(/^Basic /);
    expect(await statusOf(ask(`${http}/healthz`))).toBe(200);
  });
});

it("an exporter whose token file is missing does not start", async () => {
  await expect(
    startExporter({ ...LISTEN, grpcListen: ANY, httpTokenFile: "/nowhere", logLevel: "silent" }),
  ).rejects.toThrow(/cannot read the token file \/nowhere/);
});

it("an exporter shows its predictor the token that it asks for", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-token-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const predictorTokenFile = join(directory, "token");
  await writeFile(predictorTokenFile, "for-plans");
  const predictor = await fakePredictor();
  onTestFinished(async () => predictor.stop());
  const shown = new Set<string | undefined>();
  predictor.behave(({ headers }, response) => {
    shown.add(headers.authorization);
    response.end(JSON.stringify(planOf([wishOf()])));
  });
  const exporter = await startExporter({
    ...LISTEN,
    grpcListen: ANY,
    predictor: predictor.url,
    predictorTokenFile,
    logLevel: "silent",
  });
  onTestFinished(async () => exporter.stop());
  expect(shown).toEqual(new Set(["Bearer for-plans"]));
});
