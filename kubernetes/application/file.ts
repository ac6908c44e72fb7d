import { readFile } from "node:fs/promises";
import { parseWith } from "@tradewind/core/values/config.ts";
import { Application, serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { countValues } from "@tradewind/core/values/json-limits.ts";
import { parseAllDocuments } from "yaml";
import { timesProblem } from "./calendar-times.ts";

/** Sections of the configuration file beside the application's own fields. */
const SECTION_NAMES = ["sources", "store"] as const;

/**
 * Reads an application's configuration, YAML or JSON.
 * @throws TradewindError `invalid-config` that names the file and what is wrong in it
 */
export async function readApplication(path: string): Promise<Application> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw unreadable(path, error);
  }
  return applicationOfText(text, path, false);
}

/**
 * As {@link readApplication}, of a file that was read.
 * @param several it is one of several applications: what is of all of them stands elsewhere
 */
export function applicationOfText(text: string, path: string, several: boolean): Application {
  const value = configurationOfText(text, path);
  if (value === null || value === undefined) {
    throw new TradewindError("invalid-config", `the configuration ${path} is empty`);
  }
  const section =
    several && typeof value === "object" ? SECTION_NAMES.find((name) => name in value) : undefined;
  if (section !== undefined) {
    throw new TradewindError(
      "invalid-config",
      `the configuration ${path} has a section '${section}', which is of all applications: move it to the file of --sources`,
    );
  }
  return parseApplication(withoutSections(value), `the configuration ${path}`);
}

/**
 * What a configuration file says, with its sections: its only document, or the spec of the Application resource among the documents of a
 * stream, with its name and namespace. Other documents, such as the ScaledObjects beside it, are passed over.
 * @throws TradewindError `invalid-config` that names the file
 */
export function configurationOfText(text: string, path: string): unknown {
  let values: unknown[];
  try {
    values = documentsOf(text);
  } catch (error) {
    throw unreadable(path, error);
  }
  const resources = values.filter(isResource);
  if (resources.length === 0 && values.length <= 1) return values[0];
  const applications = resources.filter(({ kind }) => kind === "Application");
  const [application] = applications;
  if (application === undefined || applications.length > 1) {
    const held = application === undefined ? "no Application" : `${applications.length} Applications`;
    throw new TradewindError(
      "invalid-config",
      `the configuration ${path} has ${held} among ${values.length} documents: give one file with one of them`,
    );
  }
  const { name, namespace } = application.metadata ?? {};
  return {
    ...application.spec,
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
  };
}

interface ResourceDocument {
  readonly kind: string;
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown } | null;
  readonly spec?: object | null;
}

const isResource = (value: unknown): value is ResourceDocument =>
  typeof value === "object" && value !== null && "apiVersion" in value && "kind" in value;

function documentsOf(text: string): unknown[] {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return value === null || value === undefined ? [] : [value];
  });
}

function unreadable(path: string, cause: unknown): TradewindError {
  return new TradewindError("invalid-config", `the configuration ${path} cannot be read as YAML or JSON`, {
    cause,
  });
}

/** Services and dates that the calendars of an application list, all together: reading so many takes some milliseconds. */
const MOST_CALENDAR_ENTRIES = 5_000;
/** A formatter of dates, which a time zone needs, takes 0.6 ms and 40 kB. */
const MOST_TIME_ZONES = 16;

/** Values in lists and objects: 1,000 services with all their fields have 17,000. */
const MOST_VALUES = 18_000;

/**
 * Costs 50 ms of CPU at most, whatever the value says: what would cost more is refused before it is read.
 * @throws TradewindError `invalid-config` or `invalid-input` that begins with `what`
 */
export function parseApplication(value: unknown, what: string): Application {
  const costly = costProblem(value);
  if (costly !== undefined) throw new TradewindError("invalid-config", `${what}: ${costly}`);
  const application = parseWith(Application, value, what);
  const problem = whatIsWrong(application);
  if (problem !== undefined) throw new TradewindError("invalid-config", `${what}: ${problem}`);
  return application;
}

/** The sections that others read are no part of the application. */
function withoutSections(value: unknown): unknown {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  const others = new Set<string>(SECTION_NAMES);
  return Object.fromEntries(Object.entries(value).filter(([name]) => !others.has(name)));
}

/** What of a value, of whatever shape, would take too long to read. */
function costProblem(value: unknown): string | undefined {
  const costly = calendarsCost(value);
  if (costly !== undefined) return costly;
  if (countValues(value, MOST_VALUES) > MOST_VALUES) {
    return `it has more than ${MOST_VALUES} values in its lists and fields: leave out what is a default`;
  }
  return undefined;
}

function calendarsCost(value: unknown): string | undefined {
  const { calendars } = (value ?? {}) as { readonly calendars?: unknown };
  if (!Array.isArray(calendars)) return undefined;
  const zones = new Set<unknown>();
  let entries = 0;
  for (const calendar of calendars as unknown[]) {
    const { except, services, timeZone } = (calendar ?? {}) as Readonly<Record<string, unknown>>;
    for (const list of [except, services]) entries += Array.isArray(list) ? list.length : 0;
    zones.add(timeZone);
    if (entries > MOST_CALENDAR_ENTRIES) {
      return `its calendars list more than ${MOST_CALENDAR_ENTRIES} services and dates in all: write dates that follow each other as a range, such as 2026-12-24/2027-01-02, and leave 'services' out of a calendar that is for all of them`;
    }
    if (zones.size > MOST_TIME_ZONES) {
      return `its calendars are in more than ${MOST_TIME_ZONES} time zones: write some of them in a zone that another one uses`;
    }
  }
  return undefined;
}

/** What the schema of a single field cannot tell; undefined when all is well. */
function whatIsWrong(application: Application): string | undefined {
  return servicesProblem(application) ?? calendarsProblem(application);
}

function calendarsProblem(application: Application): string | undefined {
  if (application.calendars.length === 0) return undefined;
  const bounds = boundsOf(application);
  const seen = new Set<string>();
  for (const calendar of application.calendars) {
    const { name } = calendar;
    if (seen.has(name)) return `calendar '${name}' is listed twice`;
    const problem = limitsProblem(calendar, bounds) ?? timesProblem(calendar);
    if (problem !== undefined) return `calendar '${name}': ${problem}`;
    seen.add(name);
  }
  return undefined;
}

/** The bounds of the services of an application. */
interface Bounds {
  readonly specOf: (service: string) => ServiceSpec;
  readonly names: readonly string[];
  readonly lowestMaxReplicas: number;
  readonly highestMinReplicas: number;
}

function boundsOf(application: Application): Bounds {
  const { services } = application;
  return {
    specOf: serviceSpecs(application),
    names: services.map(({ name }) => name),
    lowestMaxReplicas: services.reduce((lowest, { maxReplicas }) => Math.min(lowest, maxReplicas), Infinity),
    highestMinReplicas: services.reduce((highest, { minReplicas }) => Math.max(highest, minReplicas), 0),
  };
}

function limitsProblem(
  { ceiling, floor, services }: Calendar,
  { highestMinReplicas, lowestMaxReplicas, names, specOf }: Bounds,
): string | undefined {
  if (floor === undefined && ceiling === undefined) return "has neither a floor nor a ceiling";
  const { replicas: least, timesUsual } = floor ?? {};
  if (floor !== undefined && (least === undefined) === (timesUsual === undefined))
    return "has a floor that needs one of replicas and timesUsual, such as {timesUsual: 1.5}";
  if (least !== undefined && ceiling !== undefined && least > ceiling.replicas)
    return `has floor.replicas ${least} above ceiling.replicas ${ceiling.replicas}`;
  const isWithinAll =
    (least ?? 0) <= lowestMaxReplicas && (ceiling?.replicas ?? Infinity) >= highestMinReplicas;
  for (const service of services ?? (isWithinAll ? [] : names)) {
    const { maxReplicas, minReplicas } = specOf(service);
    if (least !== undefined && least > maxReplicas) {
      return `has floor.replicas ${least} above maxReplicas ${maxReplicas} of '${service}'`;
    }
    if (ceiling !== undefined && ceiling.replicas < minReplicas) {
      return `has ceiling.replicas ${ceiling.replicas} below minReplicas ${minReplicas} of '${service}'`;
    }
  }
  return undefined;
}

function servicesProblem({ services, budget }: Application): string | undefined {
  const seen = new Set<string>();
  for (const { name, minReplicas, maxReplicas, cpu, memory } of services) {
    if (seen.has(name)) return `service '${name}' is listed twice`;
    if (cpu.minCores > cpu.maxCores) {
      return `service '${name}' has cpu.minCores ${cpu.minCores} above cpu.maxCores ${cpu.maxCores}`;
    }
    if (memory.minBytes > memory.maxBytes) {
      return `service '${name}' has memory.minBytes ${memory.minBytes} above memory.maxBytes ${memory.maxBytes}`;
    }
    if (minReplicas > maxReplicas) {
      return `service '${name}' has minReplicas ${minReplicas} above maxReplicas ${maxReplicas}`;
    }
    seen.add(name);
  }
  const least = services.reduce((sum, { minReplicas }) => sum + minReplicas, 0);
  if (budget.pods !== undefined && budget.pods < least) {
    return `budget.pods is ${budget.pods}, but the services' minReplicas need ${least}`;
  }
  return undefined;
}
