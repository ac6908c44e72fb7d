import { z } from "zod";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { APPLICATION_NAMES, applicationOf } from "./application/applications.ts";
import { parseObjectiveSeconds } from "@tradewind/core/values/units.ts";
import { duration } from "./duration.ts";
import { faultText } from "./fault/fault-text.ts";
import { policyText, rivalText } from "./policy.ts";

/** Shortest run in which every phase holds a few windows. */
const MIN_RUN_SECONDS = 15;
const MAX_RUN_SECONDS = 24 * 3_600;

/** What `tradewind local` can be told. */
export const LocalOptions = z
  .strictObject({
    /** Length of the run, s; without it, until it is stopped. */
    for: duration(MIN_RUN_SECONDS, MAX_RUN_SECONDS, "--for").optional(),
    application: z.enum(APPLICATION_NAMES).default("hotel"),
    policy: policyText.prefault("auto"),
    seed: z.coerce.number().int().min(0).max(2_147_483_647).default(7),
    /** What it is compared with: a policy that runs first, or the report of a run (`.json`). */
    compare: rivalText.optional(),
    /** Where the report goes; `-` is standard output. */
    json: z.string().min(1).optional(),
    /** File of requests per second, one value a line. */
    load: z.string().min(1).optional(),
    /** File of shares of the CPU in use, one value a line, that requests are reckoned from. */
    loadUtilisation: z.string().min(1).optional(),
    /** File of the shares of the users' types, one row a line. */
    users: z.string().min(1).optional(),
    /** Objective of the 95th percentile, s. */
    objective: duration(0.001, 60, "--objective", parseObjectiveSeconds).prefault("200ms"),
    /** Directory for state and logs that outlives the run. */
    state: z.string().min(1).optional(),
    quota: z.enum(["auto", "cgroup", "emulated"]).default("auto"),
    interference: z.enum(["auto", "built-in", "none"]).default("auto"),
    /** Something that goes wrong in a service during the run. */
    fault: faultText.optional(),
    /** When the predictor is killed for good, s since the start of the load. */
    killPredictor: duration(1, MAX_RUN_SECONDS, "--kill-predictor").optional(),
    /** What the scaler does while no plan comes: decides by the planner's students, or holds. */
    silence: z.enum(["students", "hold"]).default("students"),
    /** `preferred` takes the documented ports where they are free. */
    ports: z.enum(["preferred", "free"]).default("preferred"),
    /** File of the work in a millisecond, shared by runs that are compared. */
    calibration: z.string().min(1).optional(),
    logLevel: z.enum(LOG_LEVELS).default("info"),
  })
  .superRefine(({ application, fault, load, loadUtilisation, policy, silence }, context) => {
    if (load !== undefined && loadUtilisation !== undefined)
      context.addIssue("--load and --load-utilisation both say how much load comes: give one of them");
    if (policy === "students" && silence === "hold")
      context.addIssue("--policy students decides while no plan comes, and --silence hold does not");
    const names = applicationOf(application).services.map(({ name }) => name);
    if (fault !== undefined && !names.includes(fault.service))
      context.addIssue(`--fault: ${application} has no service '${fault.service}', only ${names.join(", ")}`);
  });
export type LocalOptions = z.output<typeof LocalOptions>;
export type LocalInput = z.input<typeof LocalOptions>;
