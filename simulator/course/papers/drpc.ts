import { trainTicket } from "../../applications/train-ticket.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { replicasFor } from "../../model/demand.ts";
import { replay } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

/** Requests a second by the minute: two peaks that come within minutes, and valleys between, after the trace that DRPC uses. */
const RATES = [
  40, 44, 42, 50, 48, 55, 60, 52, 58, 66, 90, 120, 128, 110, 84, 60, 52, 46, 40, 44, 56, 80, 112, 100, 76,
  140, 150, 96, 64, 50,
];
const MINUTE_SECONDS = 60;
/** After this a client gives up, and the request counts as failed. */
const CLIENT_TIMEOUT_MS = 10_000;

function tickets(): ApplicationModel {
  const application = trainTicket(replicasFor(trainTicket(), RATES[0] ?? 1, 0.5));
  return {
    ...application,
    routes: application.routes.map((route) => Object.assign({ ...route }, { timeoutMs: CLIENT_TIMEOUT_MS })),
  };
}

/** DRPC (section VI, table 4): Train Ticket under a load that changes by the minute. */
export const DRPC_PLANT: ObstacleModel = obstacle({
  name: "drpc-train-ticket",
  about: "Train Ticket, forty services in Java, under a load that doubles and falls within minutes.",
  application: tickets(),
  load: replay(RATES, MINUTE_SECONDS),
  seconds: RATES.length * MINUTE_SECONDS,
  objectiveMs: 1_000,
  family: "drpc",
});
