/** Users of the hotel application: requests at a rate that `RATE` names, and their latency on standard output every 5 s. */
import { z } from "zod";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { createBalancer } from "@tradewind/local/application/balance.ts";
import { createHttpClient } from "@tradewind/local/application/call.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { arrivals } from "@tradewind/local/load/arrivals.ts";
import { startLoad } from "@tradewind/local/load/generator.ts";
import type { Outcome } from "@tradewind/local/load/generator.ts";
import { keepLooking, look } from "./endpoints.ts";

const REPORT_MS = 5_000;
const DAY_SECONDS = 86_400;

const Environment = z.object({
  NAMESPACE: z.string(),
  /** Requests per second. */
  RATE: z.coerce.number().positive(),
});
const env = parseWith(Environment, process.env, "environment of the pod");
const balancer = createBalancer();
const entry = new Map([[HOTEL.entry, balancer]]);
await look(env.NAMESPACE, entry);

let outcomes: Outcome[] = [];
startLoad({
  arrivals: arrivals([env.RATE], DAY_SECONDS, HOTEL.flows, seededRng(process.pid + Date.now())),
  balancer,
  client: createHttpClient(),
  clock: systemClock,
  onOutcome: (outcome) => void outcomes.push(outcome),
});
setInterval(() => {
  const sorted = outcomes.map(({ latencySeconds }) => latencySeconds).sort((a, b) => a - b);
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.ceil(share * sorted.length) - 1]);
  const failed = outcomes.filter((each) => each.failed).length;
  const line = { at: new Date().toISOString(), requests: sorted.length, failed, p50, p95 };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  outcomes = [];
}, REPORT_MS);
process.on("SIGTERM", () => process.exit(0));
await keepLooking(env.NAMESPACE, entry);
