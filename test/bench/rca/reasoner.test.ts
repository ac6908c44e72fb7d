import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { afterEach, describe, expect, it } from "vitest";
import { builtIn, consulted } from "../../../bench/rca/reasoner.ts";

const series = (signal: SignalName, usual: number, now = usual): Series => ({
  signal,
  normal: Array.from({ length: 60 }, () => usual),
  now: [now],
});

/** `cart` shows most; the cause is `pay`, short of CPU. */
const incident: Incident = {
  entry: "web",
  leastPast: 40,
  calls: [],
  candidates: [
    { name: "web", series: [series("requestRate", 20), series("responseP95", 0.1, 0.6)] },
    { name: "cart", series: [series("selfTimeP95", 0.05, 0.45), series("memoryBytes", 1e8, 9e8)] },
    { name: "pay", series: [series("selfTimeP95", 0.05, 0.25), series("throttledRatio", 0.01, 0.6)] },
  ],
};

const servers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of servers.splice(0)) await stop();
});

/** An OpenAI-compatible server that gives one answer to everything. */
async function server(answer: string) {
  const asked: { messages: { content: string }[] }[] = [];
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    asked.push(JSON.parse(await text(request)) as (typeof asked)[number]);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { content: answer } }] }));
  };
  const http = createServer((request, response) => void reply(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  servers.push(async () => new Promise((resolve) => http.close(() => resolve())));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`;
  const ask = async () =>
    consulted([{ id: "one", incident }], { url, model: "stub", timeoutSeconds: 10 }, () => undefined);
  return { asked, ask };
}

const answerOf = (seconds: number): string => `<think>pay waits for CPU</think>
<Fault>[{"id":2,"type":"C","confidence":0.9,"evidence":[{"signal":"throttledRatio","value":0.6},{"signal":"selfTimeP95","value":${seconds}}]}]</Fault>
<Counterfactual>[]</Counterfactual><root>[{"id":2,"type":"C"}]</root>`;

describe("a language model beside the built-in reasoner", () => {
  it("is ranked by its causes that hold, alone and before the built-in ones", async () => {
    const { ask, asked } = await server(answerOf(0.25));
    const { figures, methods } = await ask();
    expect(asked[0]?.messages[1]?.content).toContain('2 "pay"');
    expect(builtIn(incident)[0]).toBe("cart");
    expect(methods.model(incident)).toEqual(["pay"]);
    expect(methods.both(incident).slice(0, 2)).toEqual(["pay", "cart"]);
    expect(figures).toEqual({ model: "stub", asked: 1, answered: 1, kept: 1 });
  });

  it("names nobody, and changes nothing of both, where what it cites is not so", async () => {
    const { ask } = await server(answerOf(2.5));
    const { figures, methods } = await ask();
    expect(methods.model(incident)).toEqual([]);
    expect(methods.both(incident)).toEqual(builtIn(incident));
    expect(figures).toMatchObject({ answered: 1, kept: 0 });
  });
});
