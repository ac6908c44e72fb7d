import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { ChangeList } from "@tradewind/core/contract/change.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import { settableClock } from "../../set-clock.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

const TOKEN = "s3cret-s3cret-s3cret";

const tradewind = async (...args: string[]) =>
  promisify(execFile)(process.execPath, ["cli/main.ts", ...args], { encoding: "utf8" });

const recommendations = async (http: string) =>
  RecommendationList.parse(
    await (
      await fetch(`${http}/v1/recommendations`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).json(),
  ).recommendations;

/** One service that is to have more replicas and CPU than goes by itself, by plans that follow one another. */
async function approving(clock: Clock = systemClock) {
  const state = await mkdtemp(join(tmpdir(), "tradewind-approve-"));
  onTestFinished(() => rm(state, { recursive: true }));
  const [application, httpTokenFile] = [join(state, "app.yaml"), join(state, "token")];
  await writeFile(httpTokenFile, TOKEN);
  await writeFile(
    application,
    "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, approval: {}}",
  );
  const exporter = await runningExporter(undefined, { application, httpTokenFile, state }, { clock });
  const wish = wishOf({
    allocation: { replicas: 9, cpuCores: 0.6 },
    observed: { replicasReady: 3, replicasWanted: 3, cpuCores: 0.2, complete: true },
  });
  const predictorStartedAtMs = Date.now() - 3_600_000;
  let sequence = 0;
  exporter.predictor.behave((request, response) => {
    sequence += 1;
    answering(JSON.stringify(planOf([wish], { sequence, predictorStartedAtMs })))(request, response);
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${exporter.http}${path}`, { headers })).json();
  const idOf = (resource: string): Promise<string> =>
    until(`a change of ${resource}`, async () => {
      const { changes } = ChangeList.parse(await get("/v1/changes"));
      return changes.find((each) => each.kind === "size" && each.resource === resource)?.id;
    });
  const approve = async (id: string, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${exporter.http}/v1/changes/${id}`, {
      method: "POST",
      headers,
      body: new URLSearchParams({ verdict: "approve", by: "ann", ...more }),
    });
  return { state, exporter, get, idOf, approve };
}

it("takes an approval by the clock of the plans, whatever that of the scaler says", async () => {
  const clock = settableClock();
  clock.set(20 * 60_000);
  const { approve, exporter, idOf } = await approving(clock);
  expect((await approve(await idOf("replicas"))).status).toBe(200);
  const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
  await until("9 replicas", async () => (await exporter.client.metrics(ref, "m"))[0]?.int === 9);
  const at = new Date(Date.now() + 10 * 60_000).toISOString();
  expect((await approve(await idOf("cpu"), { at })).status).toBe(200);
});

it("refuses an approval while it cannot be written down, and has it among events once it is", async () => {
  const { approve, get, idOf, state } = await approving();
  const id = await idOf("replicas");
  const approvals = async (): Promise<number> => {
    const { events } = (await get("/v1/events?most=2000")) as {
      events: { change?: string; state?: string }[];
    };
    return events.filter(({ change, state: now }) => change === id && now === "approved").length;
  };
  const disk = new DatabaseSync(join(state, "journal.sqlite"));
  onTestFinished(() => disk.close());
  const full = "BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
  disk.exec(`CREATE TRIGGER full ${full}`);
  for (const _ of [1, 2]) expect((await approve(id)).status).toBe(503);
  expect(await approvals()).toBe(0);
  disk.exec("DROP TRIGGER full");
  expect((await approve(id)).status).toBe(200);
  expect(await approvals()).toBe(1);
});

it(
  "holds a large change until a person with the token approves it, and then answers KEDA the new number; CPU of its containers by itself",
  { timeout: 120_000 },
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-approve-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [application, token] = [join(directory, "app.yaml"), join(directory, "token")];
    await writeFile(token, TOKEN);
    await writeFile(
      application,
      "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, approval: {replicasRatio: 0.3}}",
    );
    const exporter = await runningExporter(undefined, {
      application,
      httpTokenFile: token,
      state: directory,
    });
    const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
    const wish = wishOf({
      allocation: { replicas: 5, cpuCores: 0.6 },
      observed: { replicasReady: 3, replicasWanted: 3, cpuCores: 0.2, complete: true },
    });
    exporter.predictor.serve(planOf([wish]));
    const access = ["--scaler", exporter.http, "--token-file", token];
    const list = async (): Promise<string> => (await tradewind("approve", ...access)).stdout;
    await expect.poll(list, { timeout: 20_000 }).toMatch(/search +shop +replicas 3 → 5 +awaiting +until/);
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 3 }]);
    const { changes } = JSON.parse((await tradewind("approve", "--json", ...access)).stdout) as {
      changes: { id: string; resource: string }[];
    };
    const idOf = (name: string): string => changes.find(({ resource }) => resource === name)!.id;
    const id = idOf("replicas");
    const post = async (headers: Record<string, string>) =>
      fetch(`${exporter.http}/v1/changes/${id}`, {
        method: "POST",
        headers,
        body: new URLSearchParams({ verdict: "approve", by: "eve" }),
      });
    expect((await post({})).status).toBe(401);
    const password = Buffer.from(`any:${TOKEN}`).toString("base64");
    expect((await post({ authorization: `Basic ${password}` })).status).toBe(403);
    expect((await tradewind("approve", id, "--by", "ann", ...access)).stdout).toContain(
      "approved by default (ann)",
    );
    await expect(tradewind("approve", id, ...access)).rejects.toThrow("is approved; nothing was changed");
    exporter.predictor.serve(planOf([wish], { sequence: 2 }));
    await expect
      .poll(async () => exporter.client.metrics(ref, "m"), { timeout: 20_000 })
      .toMatchObject([{ int: 5 }]);
    expect(await list()).toContain("executed by default (ann)");
    const given = async () => (await recommendations(exporter.http))[0];
    expect(await given()).toMatchObject({ replicas: 5, cpuCores: 0.2 });
    await tradewind("approve", idOf("cpu"), ...access);
    exporter.predictor.serve(planOf([wish], { sequence: 3 }));
    await expect.poll(given, { timeout: 20_000 }).toMatchObject({ cpuCores: expect.closeTo(0.6) as number });
  },
);
