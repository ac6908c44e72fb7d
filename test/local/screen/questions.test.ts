import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createQuestions } from "@tradewind/local/screen/questions.ts";
import { Shop } from "../../predictor/shop.ts";
import { waitUntil } from "../../wait-until.ts";

describe("the keys of the live picture that ask a predictor", () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await Shop.open();
  }, 30_000);
  afterAll(async () => shop.close());

  it("w shows p95 and cost with one more replica of each service, and hides them again", async () => {
    const questions = createQuestions(shop.url);
    await waitUntil(async () => {
      await questions.toggle("w", 61);
      if (questions.lines.some((line) => line.includes("geo 2 → 3"))) return true;
      await questions.toggle("w", 61);
      return false;
    }, 30_000);
    const text = questions.lines.join("\n");
    expect(text).toMatch(
      /^what if, asked at 61 s:\n {2}careful: the models of .+ have seen \d windows; .+\n {2}now +p95 [\d.]+ m?s \(measured [\d.]+ m?s\) of 100 ms, \d\.\d{4} per hour\n/,
    );
    expect(text).toMatch(/ {2}1\.5 times the load +p95 [\d.]+ m?s, /);
    expect(text).toMatch(/ {2}frontend 1 → 2 replicas +p95 [\d.]+ m?s, \d\.\d{4} per hour/);
    await questions.toggle("w", 62);
    expect(questions.lines).toEqual([]);
  });

  it("w says why where the predictor ends after its first answer", async () => {
    const now = async (): Promise<Response> =>
      fetch(`${shop.url}/v1/what-if`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
    await waitUntil(async () => (await now()).ok, 30_000);
    const text = await (await now()).text();
    let answers = 0;
    const ending = createServer((_request, response) => {
      answers += 1;
      if (answers > 1) response.destroy();
      else response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
    await new Promise<void>((resolve) => ending.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void ending.close());
    const questions = createQuestions(`http://127.0.0.1:${(ending.address() as AddressInfo).port}`);
    await questions.toggle("w", 4);
    expect(questions.lines).toHaveLength(2);
    expect(questions.lines[1]).toMatch(/^predictor \(http:.+it has ended, or is being started again/);
  });

  it("e shows the explanation, in the place of what was shown", async () => {
    const questions = createQuestions(shop.url);
    await questions.toggle("w", 1);
    await waitUntil(async () => {
      await questions.toggle("e", 2);
      if (questions.lines[1]?.includes("objective 100 ms") === true) return true;
      await questions.toggle("e", 2);
      return false;
    }, 30_000);
    expect(questions.lines[0]).toBe("explain, asked at 2 s:");
  });

  it("says what went wrong where no predictor answers", async () => {
    const questions = createQuestions("http://127.0.0.1:1");
    await questions.toggle("e", 3);
    expect(questions.lines[1]).toMatch(
      /^predictor \(http:\/\/127\.0\.0\.1:1\): nothing listens .+; it has ended, or is being started again/,
    );
  });
});
