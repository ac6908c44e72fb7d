import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import { priced } from "@tradewind/predictor/run/application/parts.ts";
import { OpenCostOptions, OpenCostPrices, pricesOf } from "@tradewind/predictor/sources/opencost/prices.ts";

const namespace = (cores: number, cpuCost: number, gigabytes: number, ramCost: number): object => ({
  name: "a namespace",
  minutes: 1_440,
  cpuCoreHours: cores,
  cpuCost,
  cpuCostAdjustment: 0,
  ramByteHours: 1e9 * gigabytes,
  ramCost,
  ramCostAdjustment: 0,
  totalCost: cpuCost + ramCost,
});
const DATA = [{ shop: namespace(48, 1.92, 96, 0.48), bank: namespace(24, 0.96, 24, 0.12) }, null];
const PRICES = { cpuCoreHour: 0.04, memoryGigabyteHour: 0.005 };

let answer: { status: number; body: unknown } = { status: 200, body: { code: 200, data: DATA } };
afterEach(() => {
  answer = { status: 200, body: { code: 200, data: DATA } };
});

/** An OpenCost server on a free port, and the questions that it was asked. */
async function openCost(): Promise<{ readonly url: string; readonly questions: string[] }> {
  const questions: string[] = [];
  const server = createServer((request, response) => {
    questions.push(request.url ?? "");
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`, questions };
}

const pricesAt = (url: string): OpenCostPrices => {
  const prices = new OpenCostPrices(OpenCostOptions.parse({ url, maxAttempts: 1 }));
  onTestFinished(async () => prices.stop());
  return prices;
};

describe("prices of OpenCost", () => {
  it("are what all namespaces paid over what they were allocated, below the path of the server", async () => {
    const { questions, url } = await openCost();
    expect(await pricesAt(url).read()).toEqual(PRICES);
    expect(questions).toEqual(["/model/allocation?window=1d&aggregate=namespace&accumulate=true"]);
  });

  it("count adjustments by the cloud's bill, and leave out what is idle or not understood", () => {
    const adjusted = { ...namespace(10, 1, 10, 0.1), cpuCostAdjustment: -0.5 };
    const data = [{ shop: adjusted, __idle__: namespace(5, 50, 5, 50), odd: { cpuCost: "much" } }];
    expect(pricesOf({ data })).toEqual({ cpuCoreHour: 0.05, memoryGigabyteHour: 0.01 });
  });

  it.each([
    ["no namespace", []],
    ["no costs", [{ shop: namespace(10, 0, 10, 0) }]],
    ["nothing allocated", [{ shop: namespace(0, 1, 0, 1) }]],
  ])("are none of %s, rather than 0 or infinite", (_, data) => {
    expect(() => pricesOf({ data })).toThrow("give it prices");
  });

  it("take the place of what an application states, and hold while the server fails", async () => {
    const { url } = await openCost();
    const prices = pricesAt(url);
    const application = Application.parse({
      name: "shop",
      entry: "web",
      objective: { milliseconds: 200 },
      prices: { cpuCoreHour: 1, nodeClasses: { spot: 0.4 } },
    });
    const own = { application, current: () => application, workloads: () => undefined, directory: undefined };
    const parts = priced(own, { prices: () => prices.last });
    expect(parts.current()).toBe(application);
    await prices.follow(createLog("test", "silent"));
    expect(parts.current()?.prices).toEqual({ ...PRICES, nodeClasses: { spot: 0.4 } });
    expect(parts.current()).toBe(parts.current());
    answer = { status: 500, body: {} };
    await prices.follow(createLog("test", "silent"));
    expect(parts.current()?.prices).toMatchObject(PRICES);
  });

  it("are said by the doctor, or why there are none", async () => {
    const { url } = await openCost();
    expect(await pricesAt(url).check()).toEqual([
      {
        subject: "opencost opencost",
        level: "ok",
        message: "a core costs 0.04 an hour, a gigabyte of memory 0.005",
      },
    ]);
    answer = { status: 200, body: { code: 200, data: "soon" } };
    expect(await pricesAt(url).check()).toMatchObject([{ level: "problem" }]);
  });
});
