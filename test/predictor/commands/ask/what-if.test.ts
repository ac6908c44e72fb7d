import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import type { PredictedService } from "@tradewind/core/contract/what-if.ts";
import { expect, it, onTestFinished } from "vitest";
import { tradewind } from "../../../cli/tradewind.ts";

/** Answers every question by the replicas that a new decision started from, the last of them from then on. */
async function predictor(decisions: number[]): Promise<{ url: string; asked: (number | undefined)[] }> {
  const asked: (number | undefined)[] = [];
  const size = (replicas: number): PredictedService => ({
    replicas,
    cpuCores: 1,
    memoryBytes: 1e9,
    requestsPerSecond: 10,
    selfTimeSeconds: 0.01,
  });
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const [supposed] = WhatIfRequest.parse(JSON.parse(body)).services;
      asked.push(supposed?.replicas);
      const now = decisions.length > 1 ? decisions.shift()! : decisions[0]!;
      const then = supposed?.replicas ?? now;
      const answer: WhatIfAnswer = {
        schema: "tradewind.dev/what-if/v1",
        application: "shop",
        namespace: "default",
        decidedAtMs: 0,
        policy: "planner",
        objective: { percentile: 0.95, seconds: 0.1 },
        load: { now: 1, then: 1 },
        routes: [],
        services: [{ service: "cart", isModelled: true, now: size(now), then: size(then) }],
        costPerHour: { now, then },
        overRatio: { now: 0, then: 0 },
        warnings: [],
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

it("a relative number of replicas is of the decision that answers, not of one before", async () => {
  const { asked, url } = await predictor([2, 1]);
  const args = ["what-if", "--predictor", url, "--service", "cart", "--replicas", "+1", "--json"];
  const { code, stderr, stdout } = await tradewind(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [cart] = WhatIfAnswer.parse(JSON.parse(stdout)).services;
  expect(cart).toMatchObject({ now: { replicas: 1 }, then: { replicas: 2 } });
  expect(asked).toEqual([undefined, 3, 2]);
});

it("a predictor whose decision changes with every question is not asked for ever", async () => {
  const { asked, url } = await predictor([2, 3, 4, 5, 6, 7, 8, 9]);
  const { code } = await tradewind("what-if", "--predictor", url, "--service", "cart", "--replicas", "-1");
  expect(code).toBe(0);
  expect(asked).toHaveLength(5);
});
