import { expect, it } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { answered, answers, ask, keptPlaces, order, overridesOf, planned } from "./overriding.ts";

async function scaler() {
  const exporter = await runningExporter(undefined, keptPlaces());
  exporter.predictor.serve(planned(5));
  await answers(exporter.client, "search", 5);
  return exporter;
}

it("an order needs a token with the scope override, and of the namespace", async () => {
  const { client, http } = await scaler();
  expect((await fetch(`${http}/v1/overrides`, { method: "POST" })).status).toBe(401);
  expect((await order(http, { kind: "pause", name: "search" }, "scrape")).status).toBe(403);
  const foreign = await order(http, { kind: "pause", name: "search" }, "bob");
  expect(foreign.status).toBe(404);
  expect(await foreign.text()).not.toContain("hotel");
  expect((await order(http, { kind: "pause" }, "bob")).status).toBe(403);
  expect(await answered(client, "search")).toBe(5);
  expect(await overridesOf(http)).toEqual([]);
});

it("a browser's login is no order: only a bearer token is", async () => {
  const { http } = await scaler();
  const basic = Buffer.from("any:ann-0123456789abcdef").toString("base64");
  const answer = await fetch(`${http}/v1/overrides`, {
    method: "POST",
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ kind: "pause", reason: "a page from elsewhere" }),
  });
  expect(answer.status).toBe(403);
});

it.each([
  [
    "an unknown name, with those that there are",
    { kind: "pause", name: "serach" },
    404,
    "services are pay, search",
  ],
  ["an end in the past", { kind: "pause", until: "2020-01-01T00:00:00Z" }, 400, "lies in the past"],
  ["more than a day", { kind: "pause", forSeconds: "86401" }, 400, "at most 24 hours"],
  ["sizes outside of the bounds", { kind: "hold", name: "search", replicas: "21" }, 400, "bounds"],
  ["what is not a number", { kind: "hold", name: "search", replicas: "many" }, 400, "replicas"],
  ["a reason of two lines", { kind: "pause", reason: "one\ntwo" }, 400, "reason"],
  ["a reason that is missing", { kind: "pause", reason: "" }, 400, "reason"],
  ["the end of what is not overridden", { kind: "release", name: "search" }, 409, "is not overridden"],
  ["a field that nobody knows", { kind: "pause", nmae: "search" }, 400, "nmae"],
])("%s is refused", async (_what, words, status, message) => {
  const { http } = await scaler();
  const answer = await order(http, words);
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(message)]);
});

it("in mode observe it says that nothing is carried out", async () => {
  const exporter = await runningExporter(undefined, keptPlaces());
  exporter.predictor.serve(planned(5, 4, { mode: "observe" }));
  await answers(exporter.client, "search", 3);
  const answer = await order(exporter.http, { kind: "hold", name: "search", replicas: "8" });
  expect(await answer.json()).toMatchObject({
    overrides: [{ notes: [expect.stringContaining("shop/hotel is in mode observe")] }],
  });
  expect(await answered(exporter.client, "search")).toBe(3);
});

it("status, list, trail and metrics say who holds it until when, and that it is over", async () => {
  const { client, http } = await scaler();
  await order(http, { kind: "hold", name: "search", replicas: "8" });
  await answers(client, "search", 8);
  const text = async (path: string): Promise<string> => (await ask(http, path)).text();
  expect(await text("/metrics")).toMatch(
    /tradewind_override_end_timestamp_seconds\{application="hotel",namespace="shop",service="search"\} \d+/,
  );
  expect(await text("/metrics")).toContain('tradewind_override_changes_total{kind="hold",state="begun"} 1');
  expect(await text("/v1/recommendations")).toContain("held (8 replicas) by ann until");
  expect(await text("/v1/events")).toContain('"action":"hold","state":"begun","by":"ann"');
  await order(http, { kind: "release", name: "search" });
  expect(await text("/metrics")).not.toContain("tradewind_override_end_timestamp_seconds{");
  expect(await text("/v1/events")).toContain('"state":"released"');
});
