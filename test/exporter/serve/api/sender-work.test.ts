import { get } from "node:http";
import { expect, it } from "vitest";
import type { Logger } from "@tradewind/core/process/log.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { bareApi } from "./bare-api.ts";

const SCRAPE = "one 1\n";

/** Asks from an address of loopback. */
async function asked(address: string, from: string, path = "/metrics") {
  return new Promise<{ status: number | undefined; retryAfter: string | undefined }>((resolve, reject) => {
    get(`${address}${path}`, { localAddress: from, agent: false }, (response) => {
      response
        .resume()
        .once("end", () =>
          resolve({ status: response.statusCode, retryAfter: response.headers["retry-after"] }),
        );
    }).once("error", reject);
  });
}

it("answers 429 with the time to wait to an address that has used up its work, and others and probes as before", async () => {
  const clock = { nowMs: 0, cpuMs: 0 };
  const lines: string[] = [];
  const work = new SenderWork({
    maxSenderWork: 0.5,
    byToken: false,
    monotonicMs: () => clock.nowMs,
    cpuMs: () => clock.cpuMs,
    log: { warn: (...said: unknown[]) => lines.push(JSON.stringify(said)) } as unknown as Logger,
  });
  const { address } = await bareApi({
    work,
    metrics: async function* () {
      // What it takes to answer.
      clock.cpuMs += 6_000;
      yield await Promise.resolve(SCRAPE);
    },
  });
  expect(await asked(address, "127.0.0.2")).toMatchObject({ status: 200 });
  expect(await asked(address, "127.0.0.2")).toMatchObject({ status: 200 });
  expect(await asked(address, "127.0.0.2")).toEqual({ status: 429, retryAfter: "5" });
  expect(await asked(address, "127.0.0.2", "/healthz")).toMatchObject({ status: 200 });
  expect(await asked(address, "127.0.0.3")).toMatchObject({ status: 200 });
  expect(work.refused).toEqual({ work: 1 });
  expect(
    lines.filter((line) => line.includes("127.0.0.2") && line.includes("--max-sender-work")),
  ).toHaveLength(1);
  clock.nowMs += 5_000;
  expect(await asked(address, "127.0.0.2")).toMatchObject({ status: 200 });
});
