import { get } from "node:http";
import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type { RecommendationHeader } from "@tradewind/exporter/decide/recommendation-list.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { bareApi } from "./bare-api.ts";

const header = (problem?: string): RecommendationHeader => ({
  schema: RECOMMENDATIONS_SCHEMA,
  servedAtMs: Date.now(),
  predictor: { reachable: true, ...(problem !== undefined && { problem }) },
});

/** Names of the events that a viewer is sent while so much happens, half a second apart. */
async function eventsDuring(
  turns: readonly { readonly problem?: string; readonly expired?: number }[],
): Promise<string[]> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let turn: (typeof turns)[number] = turns[0] ?? {};
  const api = await bareApi({
    watched: { header: () => header(turn.problem), revision: () => 1, expired: () => turn.expired ?? 0 },
  });
  const leaving = new AbortController();
  const response = await fetch(`${api.address}/v1/stream`, { signal: leaving.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const names: string[] = [];
  const readOne = async (): Promise<void> => {
    const { value } = (await reader.read()) as { value?: Uint8Array };
    for (const [, name = ""] of new TextDecoder().decode(value).matchAll(/^event: (\w+)$/gm))
      names.push(name);
  };
  await readOne();
  for (turn of turns) vi.advanceTimersByTime(500);
  // A beat comes four seconds after the last news at the latest.
  vi.advanceTimersByTime(4_000);
  while (names.at(-1) !== "beat") await readOne();
  leaving.abort();
  return names;
}

describe("the stream of news", () => {
  it("says that decisions have expired, which nothing else shows (expired-unseen)", async () => {
    expect(await eventsDuring([{}, { expired: 3 }, { expired: 3 }])).toEqual([
      "header",
      "header",
      "header",
      "beat",
    ]);
  });

  it("does not count an age that rises within a problem as news (overdue-flood)", async () => {
    const overdue = [3, 4, 5, 6].map((age) => ({ problem: `its newest plan is ${age} s old` }));
    expect(await eventsDuring(overdue)).toEqual(["header", "header", "beat"]);
  });

  it("has a place for a viewer of another address however many one address opens", async () => {
    const { address } = await bareApi({ watched: { header, revision: () => 1, expired: () => 0 } });
    const status = (localAddress: string) =>
      new Promise<number | undefined>((resolve) => {
        const asking = get(`${address}/v1/stream`, { localAddress, agent: false }, (response) => {
          response.on("error", () => undefined).resume();
          resolve(response.statusCode);
        }).on("error", () => resolve(undefined));
        onTestFinished(() => void asking.destroy());
      });
    const opened = await Promise.all(Array.from({ length: 120 }, async () => status("127.0.0.2")));
    expect(opened.filter((each) => each === 200)).toHaveLength(80);
    const others = await Promise.all(Array.from({ length: 30 }, async () => status("127.0.0.3")));
    expect(others).toEqual(Array.from({ length: 30 }, () => 200));
  });
});
