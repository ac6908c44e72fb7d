import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ProposalCheck, ProposalList } from "@tradewind/core/contract/proposal.ts";
import { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { Shop } from "../../shop.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "..", "bin", "tradewind.mjs");

describe("proposals sent to a predictor whose live models decide", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open({ policy: "auto" });
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => shop.close());

  const check = async (body: unknown): Promise<ProposalCheck> => {
    const answer = await shop.post("/v1/proposals", body);
    expect(answer.status).toBe(200);
    return ProposalCheck.parse(await answer.json());
  };
  const proposal = (replicas: number) => ({
    name: "geo-default-main",
    time: new Date().toISOString(),
    rules: ["scale"],
    configuration: { replicas },
    reason: "more users come",
  });

  it("are run on the models, and change nothing", async () => {
    const now = WhatIfAnswer.parse(
      await (await shop.post("/v1/what-if", { services: [{ service: "geo" }] })).json(),
    );
    const { replicas } = now.services[0]!.now;
    const { namespace, proposals } = await check([proposal(replicas + 1), null]);
    expect(namespace).toBe("default");
    expect(proposals[0]).toMatchObject({ verdict: "kept", service: "geo", then: { replicas: replicas + 1 } });
    expect(proposals[0]!.counterfactual!.costAfterPerHour).toBeGreaterThan(
      proposals[0]!.counterfactual!.costBeforePerHour,
    );
    expect(proposals[1]!.verdict).toBe("nothing");
    const metrics = await (await shop.get("/metrics")).text();
    expect(metrics).toMatch(/^tradewind_proposals_checked_total\{verdict="kept"\} [1-9]/m);
  });

  it("are judged one by one: a broken one spoils no other", async () => {
    const { proposals } = await check([{ ...proposal(3), rules: ["rm -rf /"] }, proposal(1_000_000), null]);
    expect(proposals.map(({ verdict }) => verdict)).toEqual(["format", "format", "nothing"]);
  });

  it.each([
    ["more than 64", Array.from({ length: 65 }, () => null), 400],
    ["megabytes", { reason: "x".repeat(1e6) }, 413],
  ])("are refused where they are %s", async (_what, body, status) => {
    expect((await shop.post("/v1/proposals", body)).status).toBe(status);
  });

  it("are printed by the command, which reads them again", async () => {
    const flags = ["proposals", "--predictor", shop.url, "--token-file", shop.tokenFile];
    const run = async (...more: string[]) =>
      promisify(execFile)(process.execPath, [PROGRAM, ...flags, ...more]);
    await waitUntil(async () => (await shop.get("/v1/proposals")).status === 200, 10_000);
    const { stdout } = await run("--json");
    expect(() => ProposalList.parse(JSON.parse(stdout))).not.toThrow();
    const file = join(shop.application.directory, "proposals.json");
    writeFileSync(file, JSON.stringify([null]));
    expect((await run("--check", file)).stdout).toContain("nothing is proposed");
    writeFileSync(file, JSON.stringify({ ...proposal(2), name: "nobody-default" }));
    await expect(run("--check", file)).rejects.toMatchObject({ code: 1 });
    writeFileSync(file, "{");
    await expect(run("--check", file)).rejects.toMatchObject({ code: 2 });
  }, 30_000);
});
