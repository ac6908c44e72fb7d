import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { runningExporter } from "../running-exporter.ts";
import { planOf, wishOf } from "../wish.ts";

const TOKEN = "s3cret-s3cret-s3cret";

const tradewind = async (...args: string[]) =>
  promisify(execFile)(process.execPath, ["cli/main.ts", ...args], { encoding: "utf8" });

const recommendations = async (http: string) =>
  RecommendationList.parse(
    await (
      await fetch(`${http}/v1/recommendations`, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).json(),
  ).recommendations;

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
    expect((await tradewind("approve", id, "--by", "ann", ...access)).stdout).toContain("approved by ann");
    await expect(tradewind("approve", id, ...access)).rejects.toThrow("is approved; nothing was changed");
    exporter.predictor.serve(planOf([wish], { sequence: 2 }));
    await expect
      .poll(async () => exporter.client.metrics(ref, "m"), { timeout: 20_000 })
      .toMatchObject([{ int: 5 }]);
    expect(await list()).toContain("executed by ann");
    const given = async () => (await recommendations(exporter.http))[0];
    expect(await given()).toMatchObject({ replicas: 5, cpuCores: 0.2 });
    await tradewind("approve", idOf("cpu"), ...access);
    exporter.predictor.serve(planOf([wish], { sequence: 3 }));
    await expect.poll(given, { timeout: 20_000 }).toMatchObject({ cpuCores: expect.closeTo(0.6) as number });
  },
);
