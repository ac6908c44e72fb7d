import { trainTicket } from "../../applications/train-ticket.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { replicasFor } from "../../model/demand.ts";
import { replay } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

/** Requests a second by the minute: two peaks that come within minutes, and a valley between, after the trace that DRPC uses. */
const RATES = [24, 26, 25, 30, 40, 77, 50, 30, 67, 90];
const MINUTE_SECONDS = 60;
const WARM_UP_SECONDS = 4 * MINUTE_SECONDS;
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
export const DRPC_PLANT: ObstacleModel = {
  ...obstacle({
    name: "drpc-train-ticket",
    about: "Train Ticket, forty services in Java, under a load that doubles and falls within minutes.",
    application: tickets(),
    load: replay(RATES, MINUTE_SECONDS),
    seconds: RATES.length * MINUTE_SECONDS,
    objectiveMs: 1_000,
    family: "drpc",
  }),
  warmUpSeconds: WARM_UP_SECONDS,
};
