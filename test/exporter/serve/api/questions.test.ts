import type { Change } from "@tradewind/core/contract/change.ts";
import { EventList } from "@tradewind/core/contract/audit.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

describe("questions that the scaler passes on", () => {
  it("gives the predictor's answer word for word, with its status", async () => {
    const exporter = await runningExporter(undefined);
    const seen: string[] = [];
    exporter.predictor.behave((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        if (/^\/v1\/(plan|applications)/.test(request.url!)) {
          response.writeHead(503).end("{}");
          return;
        }
        seen.push(`${request.method} ${request.url} ${body}`);
        response
          .writeHead(404, { "content-type": "application/json" })
          .end('{"numbers":[0.1000000000000000055]}');
      });
    });
    const asked = { load: 2, services: [{ service: "cart", replicas: 3 }] };
    const answer = await fetch(`${exporter.http}/v1/what-if`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    expect(answer.status).toBe(404);
    expect(await answer.text()).toBe('{"numbers":[0.1000000000000000055]}');
    await (await fetch(`${exporter.http}/v1/explain?at=5&application=shop`)).text();
    expect(seen).toEqual([`POST /v1/what-if ${JSON.stringify(asked)}`, "GET /v1/explain?at=5 "]);
  });

  it("asks the predictor once what ten people ask at the same time (three-on-incident)", async () => {
    const exporter = await runningExporter(undefined);
    const held: (() => void)[] = [];
    const release = Promise.withResolvers<void>();
    exporter.predictor.behave((request, response) => {
      if (/^\/v1\/(plan|applications)/.test(request.url!)) {
        response.writeHead(503).end("{}");
        return;
      }
      held.push(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
      release.resolve();
    });
    const all = Array.from({ length: 10 }, async () => (await fetch(`${exporter.http}/v1/explain`)).status);
    await release.promise;
    const other = fetch(`${exporter.http}/v1/measured`);
    await until("the other question", () => held.length === 2);
    for (const answer of held) answer();
    expect(await Promise.all(all)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await other).status).toBe(200);
    expect(held).toHaveLength(2);
  });

  it.each([
    {
      what: "nested deeper than it can be written again",
      body: `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
      status: 413,
    },
    { what: "one long text", body: JSON.stringify("0:".repeat(100_000)) },
    {
      what: "a service's name that is too long",
      body: JSON.stringify({ services: [{ service: "!".repeat(250_000) }] }),
    },
  ])(
    "refuses a what-if without asking the predictor where its body is $what",
    async ({ body, status = 400 }) => {
      const exporter = await runningExporter(undefined);
      const seen: (string | undefined)[] = [];
      exporter.predictor.behave((request, response) => {
        seen.push(request.url);
        response.writeHead(503).end("{}");
      });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${exporter.http}/v1/what-if`, { method: "POST", headers, body });
      expect(answer.status).toBe(status);
      expect(await answer.text()).toContain("bad-request");
      expect(seen).not.toContain("/v1/what-if");
    },
  );

  it("says what is wrong when the predictor does not answer", async () => {
    const exporter = await runningExporter(undefined);
    await exporter.predictor.stop();
    const answer = await fetch(`${exporter.http}/v1/measured`);
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ error: { code: "connection" } });
  });
});

describe("what happened and what would have", () => {
  it("lists decisions that changed a size, newest first, of one service when asked so", async () => {
    const exporter = await runningExporter(
      planOf([
        wishOf({
          service: "cart",
          allocation: { replicas: 4 },
          observed: { replicasReady: 2, replicasWanted: 2, complete: true },
        }),
      ]),
    );
    const list = EventList.parse(await (await fetch(`${exporter.http}/v1/events?service=cart`)).json());
    expect(list.events[0]).toMatchObject({ kind: "decision", service: "cart", after: { replicas: 4 } });
    const none = EventList.parse(await (await fetch(`${exporter.http}/v1/events?service=nobody`)).json());
    expect(none.events).toEqual([]);
    const askedOf = async (application: string): Promise<number> =>
      EventList.parse(await (await fetch(`${exporter.http}/v1/events?application=${application}`)).json())
        .events.length;
    expect([await askedOf(list.events[0]!.application), await askedOf("other")]).toEqual([1, 0]);
    expect((await fetch(`${exporter.http}/v1/events?most=0`)).status).toBe(400);
  });

  it("decides again on a record and says that it comes to the same", async () => {
    const exporter = await runningExporter(planOf([wishOf({ service: "cart" })]));
    const [first] = (await exporter.list()).recommendations;
    const replay = await (await fetch(`${exporter.http}/v1/decisions/${first!.decisionId}/replay`)).json();
    expect(replay).toMatchObject({ same: true });
    expect((await fetch(`${exporter.http}/v1/decisions/none/replay`)).status).toBe(404);
  });

  it("says how to make a backtest where none is named, and what is wrong with a file that is none", async () => {
    const exporter = await runningExporter(undefined);
    const answer = await fetch(`${exporter.http}/v1/backtest`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining("tradewind backtest --json") as string },
    });
    const directory = await mkdtemp(join(tmpdir(), "tradewind-backtest-"));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const file = join(directory, "report.json");
    await writeFile(file, '{"application":5}');
    const other = await runningExporter(undefined, { backtestReport: file });
    const wrong = await fetch(`${other.http}/v1/backtest`);
    expect(wrong.status).toBe(404);
    expect(await wrong.json()).toMatchObject({
      error: { message: expect.stringContaining("report.json") as string },
    });
  });

  it("says whether changes can be approved here: not without a token", async () => {
    const exporter = await runningExporter(undefined);
    const answer = await (await fetch(`${exporter.http}/v1/changes`)).json();
    expect(answer).toEqual({ changes: [] satisfies Change[], takesVerdicts: false });
  });
});

describe("the stream of the console", () => {
  it("gives the standing at once and again with a new plan", async () => {
    const exporter = await runningExporter(planOf([wishOf({ service: "cart" })]));
    const leaving = new AbortController();
    const response = await fetch(`${exporter.http}/v1/stream`, { signal: leaving.signal });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reader = response.body!.getReader();
    let text = "";
    const until = async (count: number): Promise<void> => {
      while (text.split("event: header").length <= count) {
        const { done, value } = (await reader.read()) as { done: boolean; value: Uint8Array };
        if (done) throw new Error("the stream ended");
        text += Buffer.from(value).toString();
      }
    };
    await until(1);
    expect(text).toContain('"schema":"tradewind.dev/recommendations/v1"');
    expect(text).not.toContain('"recommendations"');
    exporter.predictor.serve(
      planOf([wishOf({ service: "cart", allocation: { replicas: 9 } })], { sequence: 2 }),
    );
    await until(2);
    leaving.abort();
  });
});
