import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { until } from "../exporter/until.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { ask, idleConnections } from "./idle.ts";
import { ANY, LISTEN, PROCESSES, started } from "./processes.ts";

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
    await writeFile(httpTokenFile, "open-sesame-0123456789\n");
    const { http } = await started(process, { httpTokenFile });
    const page = `${http}${process.path}`;
    const showing = (authorization: string): ReturnType<typeof ask> =>
      ask(page, { headers: { authorization } });
    const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
    await until(
      "a first answer",
      async () => (await statusOf(showing("Bearer open-sesame-0123456789"))) === 200,
    );
    expect(await statusOf(showing(basic("anybody:open-sesame-0123456789")))).toBe(200);
    for (const wrong of [
      "Bearer open",
      "Bearer open-sesame-01234567891",
      basic("open-sesame-0123456789:"),
      "x",
    ]) {
      expect(await statusOf(showing(wrong))).toBe(401);
    }
    expect((await ask(page)).headers["www-authenticate"]).toMatch(/^Basic /);
    expect(await statusOf(ask(`${http}/healthz`))).toBe(200);
  });
});

it("an exporter whose token file is missing does not start", async () => {
  await expect(
    startExporter({ ...LISTEN, grpcListen: ANY, httpTokenFile: "/nowhere", logLevel: "silent" }),
  ).rejects.toThrow(/cannot use the token file \/nowhere/);
});

it("an exporter shows its predictor the token that it asks for", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-token-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const predictorTokenFile = join(directory, "token");
  await writeFile(predictorTokenFile, "for-plans-0123456789");
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
  expect(shown).toEqual(new Set(["Bearer for-plans-0123456789"]));
});
