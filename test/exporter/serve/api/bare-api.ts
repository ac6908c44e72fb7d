import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { serveApi } from "@tradewind/exporter/serve/api/server.ts";
import type { ApiServer } from "@tradewind/exporter/serve/api/server.ts";
import { onTestFinished } from "vitest";

type Parts = Parameters<typeof serveApi>[1];

const none = (): never => {
  throw new Error("nobody asks for this");
};

/** The HTTP server of a scaler of which only these parts are there; it stops with the test. */
export async function bareApi(parts: Partial<Parts>): Promise<ApiServer> {
  const log = createLog("test", "silent");
  const monotonicMs = () => performance.now();
  const api = await serveApi(
    { host: "127.0.0.1", port: 0 },
    {
      list: none,
      decisionJson: none,
      historyJson: none,
      overrides: { hasToken: false, notesOf: none, overrides: { list: none, order: none, release: none } },
      changes: { hasToken: false, list: none, decide: none },
      occasions: { events: none, calendarsJson: none, backtestReport: undefined },
      watched: { expired: none, header: none, revision: none },
      ask: none,
      courses: { courses: { course: none, places: none }, fleet: none, others: none },
      ready: { places: none, facts: none },
      missing: () => [],
      door: new HttpDoor({ monotonicMs, log }),
      work: new SenderWork({ maxSenderWork: 0.5, byToken: false, monotonicMs, log }),
      onAnswer: () => undefined,
      tls: undefined,
      isAlive: async () => true,
      metrics: none,
      log,
      ...parts,
    },
  );
  onTestFinished(() => api.stop());
  return api;
}
