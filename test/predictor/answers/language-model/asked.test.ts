import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { ProposalCheck } from "@tradewind/core/contract/proposal.ts";
import { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { Shop } from "../../shop.ts";

/** Answers from what it is told of `geo` alone: two of its values, and one replica more than there are. */
function answered(user: string): string {
  const line = user.split("\n").find((each) => each.includes('"geo":')) ?? "";
  const id = Number.parseInt(line, 10);
  const values = line
    .slice(line.indexOf(":") + 1)
    .split(";")[0]!
    .split(",");
  const evidence = values.slice(0, 2).map((each) => {
    const [signal = "", value = ""] = each.trim().split("=");
    return { signal, value: Number.parseFloat(value) };
  });
  const [, least = ""] = line.split("may be: replicas ");
  const to = Number.parseInt(least, 10) + 1;
  const change = { id, resource: "replicas", to, expected: "better" };
  return [
    "<think>geo takes most</think>",
    `<Fault>${JSON.stringify([{ id, type: "C", evidence, confidence: 0.5 }])}</Fault>`,
    `<Counterfactual>${JSON.stringify([change])}</Counterfactual>`,
    `<root>${JSON.stringify([{ id, type: "C" }])}</root>`,
  ].join("");
}

async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { messages } = JSON.parse(await text(request)) as { messages: { content: string }[] };
  const content = answered(messages[1]?.content ?? "");
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ choices: [{ message: { content } }] }));
}

describe("a predictor with a language model", () => {
  let model: Server;
  let shop: Shop;
  beforeAll(async () => {
    model = createServer((request, response) => void reply(request, response));
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
    const reasonerUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
    shop = await Shop.open({ reasonerUrl });
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => {
    await shop.close();
    await new Promise((resolve) => model.close(resolve));
  });

  it("asks it about the last window and gives what it says, each part checked", async () => {
    const answer = await shop.post("/v1/ask", {});
    expect(answer.status).toBe(200);
    const { opinion } = Explanation.parse(await answer.json());
    expect(opinion).toMatchObject({ model: "stub", words: "geo takes most" });
    expect(opinion!.causes).toEqual([{ service: "geo", type: "C" }]);
    expect(opinion!.verdicts).not.toHaveProperty("unsafe");
    expect(opinion!.verdicts).not.toHaveProperty("format");
  });

  it("names growth that is asked for in the plan where the models expect it to help", async () => {
    const asked = await shop.post("/v1/what-if", { services: [{ service: "geo" }] });
    const { replicas } = WhatIfAnswer.parse(await asked.json()).services[0]!.now;
    const proposal = {
      name: "geo-default-main",
      time: new Date().toISOString(),
      rules: ["scale"],
      configuration: { replicas: replicas + 2 },
      reason: "more users come",
    };
    const answer = await shop.post("/v1/proposals/ask", [proposal, null]);
    expect(answer.status).toBe(200);
    const [checked, nothing] = ProposalCheck.parse(await answer.json()).proposals;
    expect(checked).toMatchObject({ verdict: "kept", service: "geo" });
    expect(nothing).not.toHaveProperty("changes");
    // Growth that does no harm but helps little is kept, and nobody is asked for it.
    const { ratioAfter, ratioBefore } = checked!.counterfactual!;
    expect(checked!.changes === undefined || ratioAfter < ratioBefore).toBe(true);
    await waitUntil(async () => {
      const plan = Plan.parse(await (await shop.get("/v1/plan")).json());
      const named = new Set((plan.askedChanges ?? []).map(({ id }) => id));
      return (checked!.changes ?? []).every((id) => named.has(id));
    }, 15_000);
  });
});

describe("a predictor without a language model", () => {
  it("refuses to ask one, and says so", async () => {
    const shop = await Shop.open();
    try {
      const answer = await shop.post("/v1/ask", {});
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ error: { code: "no-model" } });
    } finally {
      await shop.close();
    }
  });
});
