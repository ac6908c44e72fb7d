import { z } from "zod";
import { Count, EpochMs, ObjectName, patternedText, Ratio, ServiceName } from "./quantity.ts";

const Cron = z.string().min(9).max(120);
const Dates = patternedText(21, /^\d{4}-\d{2}-\d{2}(\/\d{4}-\d{2}-\d{2})?$/);

/** Least and most replicas in windows of time that come back. */
export const Calendar = z.strictObject({
  name: ObjectName.describe("Names it in reasons and in the audit trail."),
  services: z
    .array(ServiceName)
    .min(1)
    .max(5_000)
    .optional()
    .describe("Services that it holds for; without it all of the application."),
  from: Cron.describe(
    "When a window begins: minute, hour, day of month, month, day of week; or one date with its time, such as 2027-11-26T00:00, for a window that does not come back.",
  ),
  until: Cron.describe("When it ends: the first such time after it began, written as `from` is."),
  timeZone: z.string().min(1).max(64).default("UTC").describe("IANA name, such as Europe/Zurich."),
  except: z
    .array(Dates)
    .max(366)
    .default([])
    .describe(
      "Dates in that zone on which no window begins, such as 2026-12-25 or 2026-12-24/2027-01-02 with both ends.",
    ),
  floor: z
    .strictObject({
      replicas: Count.optional().describe("Replicas of each service."),
      timesUsual: z
        .number()
        .positive()
        .max(100)
        .optional()
        .describe(
          "In place of `replicas`: so many times the replicas that the service needs at the usual load of this time of day, such as 1.5.",
        ),
    })
    .optional()
    .describe(
      "Least replicas of each service. They are started early enough to be ready when the window begins.",
    ),
  ceiling: z
    .strictObject({
      replicas: Count.describe("Replicas of each service."),
      soft: z.boolean().default(false).describe("CPU demand may take the service above it."),
    })
    .optional()
    .describe("Most replicas of each service."),
});
export type Calendar = z.infer<typeof Calendar>;

/** A floor that the load of the past weeks speaks for; it counts once a person approved it. */
export const LearnedCalendar = z.strictObject({
  /** For one service, by day of the week and time in UTC. */
  calendar: Calendar,
  service: ServiceName,
  /** What the service needs at the usual load of such a day. */
  usualReplicas: Count,
  /** Days of the past weeks on which it would have held, and those of them on which it was needed. */
  occurrences: Count,
  hits: Count,
  /** Share of days on which it is needed at least, with a probability of 0.9. */
  confidence: Ratio,
});
export type LearnedCalendar = z.infer<typeof LearnedCalendar>;

/** What a calendar asks for at the time of a decision. */
export const CalendarLimit = z.strictObject({
  calendar: ObjectName,
  floorReplicas: Count.optional(),
  ceilingReplicas: Count.optional(),
  soft: z.boolean().optional(),
  /** The window that counts; before `fromMs` replicas are being started for it. */
  fromMs: EpochMs,
  untilMs: EpochMs,
});
export type CalendarLimit = z.infer<typeof CalendarLimit>;

/** The calendars of the applications, each with the window that holds or comes next: `GET /v1/calendars` of the scaler. */
export const CalendarList = z.strictObject({
  calendars: z
    .array(
      z.strictObject({
        application: ObjectName,
        namespace: ObjectName,
        calendar: Calendar,
        /** Absent where no window comes any more. */
        window: z.strictObject({ fromMs: EpochMs, untilMs: EpochMs, isOpen: z.boolean() }).optional(),
      }),
    )
    .max(10_000),
});
export type CalendarList = z.infer<typeof CalendarList>;
