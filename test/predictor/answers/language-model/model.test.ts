import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelConnection } from "@tradewind/predictor/answers/language-model/model.ts";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";

const PROMPT = { system: "You judge.", user: "<state></state>" };
const KEY = "sk-very-secret";

const completion = (content: string | null): string =>
  JSON.stringify({
    choices: [{ message: { content } }],
    usage: { prompt_tokens: 7, completion_tokens: 3 },
    extra: 1,
  });

interface Asked {
  readonly path: string | undefined;
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly messages: { readonly role: string; readonly content: string }[];
    readonly response_format?: { readonly type: string };
  };
}

/** A server that speaks the protocol, and answers as it is told. */
async function stub(
  answer: (response: ServerResponse, count: number) => void,
  extra: { requestsPerDay?: number } = {},
) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += String(part)));
    request.on("end", () => {
      const { authorization } = request.headers;
      asked.push({ path: request.url, authorization, body: JSON.parse(text) as Asked["body"] });
      answer(response, asked.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const directory = await mkdtemp(join(tmpdir(), "tradewind-model-"));
  const keyFile = join(directory, "key");
  await writeFile(keyFile, `${KEY}\n`);
  const registry = new Registry();
  const clock = { ms: 0 };
  const model = new ModelConnection(
    {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      model: "small",
      keyFile,
      requestsPerDay: extra.requestsPerDay ?? 100,
      timeoutSeconds: 0.5,
    },
    {
      registry,
      monotonicMs: () => clock.ms,
      settings: {
        retryDelays: { firstMs: 1, maxMs: 1 },
        rng: () => 0,
        breaker: { failures: 4, openMs: 60_000 },
      },
    },
  );
  onTestFinished(async () => {
    await model.stop();
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true });
  });
  const results = async (): Promise<Record<string, number>> => {
    const { values } = await registry.getSingleMetric("tradewind_reasoner_requests_total")!.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels["result"]), value]));
  };
  return { asked, clock, model, registry, results };
}

const ok = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "application/json" }).end(completion("<think>words"));
};

describe("the connection to a language model", () => {
  it("asks chat completions with two messages and the key of the file, and counts tokens", async () => {
    const { asked, model, registry, results } = await stub(ok);
    expect(await model.ask(PROMPT)).toBe("<think>words");
    expect(asked[0]).toMatchObject({
      path: "/v1/chat/completions",
      authorization: `Bearer ${KEY}`,
      body: { model: "small", temperature: 0, messages: [{ role: "system" }, { role: "user" }] },
    });
    expect(await results()).toEqual({ answered: 1 });
    const metrics = await registry.metrics();
    expect(metrics).toContain('tradewind_reasoner_tokens_total{kind="prompt"} 7');
    expect(metrics).not.toContain(KEY);
  });

  it.each<[string, (response: ServerResponse) => void, string]>([
    ["too many requests (429)", (response) => void response.writeHead(429).end("slow down"), "busy"],
    ["an error (500)", (response) => void response.writeHead(500).end("oops"), "server-error"],
    ["a wrong key (401)", (response) => void response.writeHead(401).end(), "refused"],
    ["text instead of JSON", (response) => void response.end("Sure! Here is"), "bad-reply"],
    ["JSON of another form", (response) => void response.end('{"choices":[]}'), "bad-reply"],
    ["an empty answer", (response) => void response.end(completion("")), "empty"],
    ["no content at all", (response) => void response.end(completion(null)), "empty"],
    ["megabytes", (response) => void response.end(completion("x".repeat(3e6))), "too-large"],
    ["silence", () => undefined, "timeout"],
    [
      "a stream that breaks",
      (response) => {
        response.writeHead(200, { "content-length": "9999" });
        response.write("{");
        setImmediate(() => response.destroy());
      },
      "unreachable",
    ],
  ])("has nothing to say after %s, and counts why", async (_name, answer, result) => {
    const { model, results } = await stub(answer);
    expect(await model.ask(PROMPT)).toBeUndefined();
    expect(await results()).toEqual({ [result]: 1 });
  });

  it("tries once more, and then gives the answer", async () => {
    const { asked, model, results } = await stub((response, count) => {
      if (count === 1) response.writeHead(503).end();
      else ok(response);
    });
    expect(await model.ask(PROMPT)).toBe("<think>words");
    expect(asked).toHaveLength(2);
    expect(await results()).toEqual({ answered: 1 });
  });

  it("asks for an answer by its schema, and never again where that is refused", async () => {
    const { asked, model, results } = await stub((response, count) => {
      if (count === 1) response.writeHead(400).end('{"error":"response_format is not known"}');
      else ok(response);
    });
    expect(await model.ask(PROMPT)).toBe("<think>words");
    await model.ask({ ...PROMPT, earlier: { answer: "[]", objection: "Once more." } });
    const formats = asked.map(({ body }) => body.response_format?.type);
    expect(formats).toEqual(["json_schema", undefined, undefined]);
    expect(asked[2]!.body.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(await results()).toEqual({ answered: 2 });
  });

  it("leaves a server alone that failed four times in a row", async () => {
    const { asked, model, results } = await stub((response) => void response.writeHead(500).end());
    for (let count = 0; count < 5; count += 1) await model.ask(PROMPT);
    expect(asked).toHaveLength(4);
    expect((await results())["circuit-open"]).toBeGreaterThanOrEqual(1);
  });

  it("has one request in flight, and no more in a day than allowed", async () => {
    const { asked, clock, model, results } = await stub(ok, { requestsPerDay: 2 });
    const [first, second] = await Promise.all([model.ask(PROMPT), model.ask(PROMPT)]);
    expect([first, second]).toEqual(["<think>words", undefined]);
    await model.ask(PROMPT);
    expect(await model.ask(PROMPT)).toBeUndefined();
    expect(await results()).toEqual({ answered: 2, busy: 1, budget: 1 });
    clock.ms = 86_400_001;
    expect(await model.ask(PROMPT)).toBe("<think>words");
    expect(asked).toHaveLength(3);
  });
});
