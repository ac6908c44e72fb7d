import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXPLANATION_SCHEMA } from "@tradewind/core/contract/explanation.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { Webhook } from "@tradewind/predictor/answers/language-model/webhook.ts";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../../../wait-until.ts";

function explanation(service: string, summary = "Cause."): Explanation {
  return {
    schema: EXPLANATION_SCHEMA,
    application: "shop",
    namespace: "default",
    atMs: 0,
    onsetMs: 0,
    objective: { percentile: 0.95, seconds: 0.1 },
    isMissed: true,
    harm: "time",
    pastWindows: 60,
    sketchHash: "0123456789abcdef",
    summary,
    causes: [{ service, type: "C", confidence: 1, share: 1, evidence: [] }],
    counterfactuals: [],
    notCauses: [],
    missing: [],
    transcript: "",
  };
}

/** A chat room that answers with these statuses, one after the other, and then with the last again. */
async function room(statuses: readonly number[], lines: string[] = []) {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => (text += String(part)));
    request.on("end", () => {
      bodies.push(JSON.parse(text));
      response.writeHead(statuses[Math.min(bodies.length, statuses.length) - 1] ?? 200).end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const directory = await mkdtemp(join(tmpdir(), "tradewind-webhook-"));
  const file = join(directory, "url");
  await writeFile(file, `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/secret\n`);
  const registry = new Registry();
  const clock = { ms: 0 };
  const webhook = new Webhook({
    file,
    registry,
    nowMs: () => 0,
    monotonicMs: () => clock.ms,
    rng: () => 0,
    log: Object.assign(createLog("test", "silent"), {
      warn: (facts: object): number => lines.push(JSON.stringify(facts)),
    }),
    delays: { firstMs: 1, maxMs: 1 },
  });
  onTestFinished(async () => {
    await webhook.stop();
    server.close();
    await rm(directory, { recursive: true });
  });
  const count = async (result: string): Promise<number> => {
    const found = await registry.getSingleMetric("tradewind_webhook_messages_total")!.get();
    return found.values.find(({ labels }) => labels["result"] === result)?.value ?? Number.NaN;
  };
  return { bodies, clock, count, webhook };
}

function problemOf(task: () => unknown): string {
  try {
    task();
    return "";
  } catch (error) {
    return describeError(error);
  }
}

describe("the webhook", () => {
  it("tells a cause in Slack's form, once in ten minutes", async () => {
    const { bodies, clock, count, webhook } = await room([200]);
    webhook.tell(explanation("cart", "p95 412 ms. Cause: 'cart', CPU."));
    webhook.tell(explanation("cart"));
    await waitUntil(async () => (await count("sent")) === 1);
    expect(bodies).toEqual([{ text: "default/shop: p95 412 ms. Cause: 'cart', CPU." }]);
    clock.ms = 600_000;
    webhook.tell(explanation("cart"));
    await waitUntil(async () => (await count("sent")) === 2);
  });

  it("lets no name from a trace call anybody", async () => {
    const { bodies, webhook } = await room([200]);
    webhook.tell(explanation("cart", "Cause: '<!channel>' & more"));
    await waitUntil(() => bodies.length === 1);
    expect(bodies).toEqual([{ text: "default/shop: Cause: '&lt;!channel&gt;' &amp; more" }]);
  });

  it("tries again after 429 and 500, and tells then", async () => {
    const { bodies, count, webhook } = await room([429, 500, 200]);
    webhook.tell(explanation("cart"));
    await waitUntil(async () => (await count("sent")) === 1);
    expect(bodies).toHaveLength(3);
  });

  it("gives up after three attempts, or at once where the message is refused, and logs it without the address", async () => {
    const lines: string[] = [];
    const failing = await room([500], lines);
    failing.webhook.tell(explanation("cart"));
    await waitUntil(async () => (await failing.count("failed")) === 1);
    expect(failing.bodies).toHaveLength(3);
    const refusing = await room([404], lines);
    refusing.webhook.tell(explanation("cart"));
    await waitUntil(async () => (await refusing.count("failed")) === 1);
    expect(refusing.bodies).toHaveLength(1);
    expect(lines.join("")).toContain("it answered 404");
    expect(lines.join("")).not.toContain("secret");
  });

  it("says nothing where no cause is named", async () => {
    const { bodies, count, webhook } = await room([200]);
    webhook.tell({ ...explanation("cart"), causes: [] });
    webhook.tell(explanation("geo"));
    await waitUntil(async () => (await count("sent")) === 1);
    expect(bodies).toHaveLength(1);
  });

  it("refuses a file without an address, and does not repeat what it holds", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-webhook-"));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const file = join(directory, "url");
    await writeFile(file, "ftp://secret");
    const open = (): Webhook =>
      new Webhook({
        file,
        registry: new Registry(),
        nowMs: () => 0,
        monotonicMs: () => 0,
        rng: () => 0,
        log: createLog("test", "silent"),
      });
    const refused = problemOf(open);
    expect(refused).toContain("http:// or https://");
    expect(refused).not.toContain("ftp");
  });
});
