import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import { ApplicationFiles } from "@tradewind/kubernetes/application/files.ts";
import { applicationSources, maySeveral, pathsOf } from "@tradewind/kubernetes/application/sources.ts";
import { stateDirectory, statePlaces } from "../../run/application/application-state.ts";
import { makeSources } from "../../sources/make-sources.ts";
import { problem } from "../../sources/check.ts";
import type { Finding } from "../../sources/source.ts";
import { mapTraceOptions } from "../../sources/trace-sources.ts";
import { OpenCostPrices } from "../../sources/opencost/prices.ts";
import { readSections } from "../../sources/sources-config.ts";
import type { Sections } from "../../sources/sources-config.ts";
import { listen } from "./listen.ts";
import type { Heard } from "./listen.ts";
import { namedWorkloads } from "./named-workloads.ts";
import type { DoctorOptions } from "./options.ts";
import { checkAgent, checkScaler, checkPredictor } from "./own-processes.ts";
import { examineCluster, usesCluster } from "./cluster.ts";
import { checkState } from "./state-directory.ts";

/** The state directory of the only application, or that of each of several. */
async function checkStates(given: string, nowMs: number): Promise<Finding[]> {
  // What `tradewind local` keeps holds that of each process.
  const below = join(given, "predictor");
  const state = existsSync(below) ? below : given;
  const places = await statePlaces(state);
  if (places.length === 0) return checkState(state, nowMs);
  return places.flatMap((place) => checkState(stateDirectory(state, place), nowMs));
}

/**
 * Receives for a while what is sent, and compares it with what is configured and what runs. Never throws.
 * @param onListening told where it listens
 */
export async function examineTraffic(
  options: DoctorOptions,
  onListening: (endpoints: readonly string[]) => void,
): Promise<Heard> {
  const [path, ...others] = options.config;
  try {
    const isFile = path !== undefined && others.length === 0 && !path.startsWith("crd:");
    const application = isFile ? await readApplication(path) : undefined;
    const workloads = await namedWorkloads(options, application);
    return await listen(options, { application, workloads, onListening });
  } catch (error) {
    return { findings: [problem("listen", error, "correct --config, or --workloads")], collector: "" };
  }
}

/** What is found where nothing was named. */
export const NOTHING: Finding = {
  subject: "doctor",
  level: "problem",
  message: "nothing to examine",
  remedy: "name what you run: --config, --agents, --predictor, --scaler, --state or --listen",
};

/** Looks at everything that is configured, all at once, each within the timeout. Never throws. */
export async function examine(options: DoctorOptions, nowMs: number): Promise<Finding[]> {
  const { agents, predictor, scaler, state } = options;
  const looks: Promise<Finding[]>[] = [
    examineConfigs(options, nowMs),
    ...(usesCluster(options) ? [examineCluster(options)] : []),
    ...agents.map(async (url) => checkAgent(url, options, nowMs)),
    ...(predictor === undefined ? [] : [checkPredictor(predictor, options, nowMs)]),
    ...(scaler === undefined ? [] : [checkScaler(scaler, options)]),
    ...(state === undefined ? [] : [checkStates(state, nowMs)]),
  ];
  const findings = (await Promise.all(looks)).flat();
  if (findings.length > 0 || options.listenSeconds !== undefined) return findings;
  return [NOTHING];
}

async function examineConfigs(options: DoctorOptions, nowMs: number): Promise<Finding[]> {
  const sources = await applicationSources(options.config);
  const [only] = sources;
  if (!maySeveral(sources) && only?.kind === "file") return examineConfig(only.path, options, nowMs);
  const files = new ApplicationFiles(pathsOf(sources), 0);
  await files.read();
  const findings = files.entries().map(({ application, origin, problem: wrong }): Finding => {
    const subject = `configuration ${origin}`;
    if (wrong !== undefined)
      return {
        subject,
        level: "problem",
        message: wrong,
        remedy: "correct the file; the others are planned",
      };
    return {
      subject,
      level: "ok",
      message: `application ${application?.name ?? ""}, entry ${application?.entries.join(", ") ?? ""}`,
    };
  });
  const [first] = files.entries().flatMap(({ application }) => application ?? []);
  return [...findings, ...(await examineSections(options, first, nowMs))];
}

/** The sections of all applications, asked for one of them. */
async function examineSections(
  { sources: path, timeoutSeconds }: DoctorOptions,
  application: Application | undefined,
  nowMs: number,
): Promise<Finding[]> {
  if (path === undefined) return [];
  try {
    const { sources } = await readSections(path);
    return await examineAll(sources, timeoutSeconds, application, nowMs);
  } catch (error) {
    return [
      problem(`sources ${path}`, error, "correct the file; docs/sources.md shows each source's section"),
    ];
  }
}

async function examineConfig(path: string, options: DoctorOptions, nowMs: number): Promise<Finding[]> {
  const subject = `configuration ${path}`;
  const mend = "correct the file; docs/sources.md shows each source's section";
  const findings: Finding[] = [];
  let application: Application | undefined;
  try {
    application = await readApplication(path);
    findings.push({
      subject,
      level: "ok",
      message: `application ${application.name}, entry ${application.entries.join(", ")}`,
    });
    findings.push(...calendarFindings(subject, application, nowMs));
  } catch (error) {
    findings.push({ subject, level: "problem", message: describeError(error), remedy: mend });
  }
  try {
    const { sources } = await readSections(options.sources ?? path);
    findings.push(...(await examineAll(sources, options.timeoutSeconds, application, nowMs)));
  } catch (error) {
    const finding = problem(subject, error, mend);
    // What keeps the application from being read keeps its sections too, and was said with its cause.
    if (!findings.some(({ message }) => message.startsWith(finding.message))) findings.push(finding);
  }
  return findings;
}

/** Calendars that hold for nobody, or never again. */
function calendarFindings(
  subject: string,
  { calendars, entries, services }: Application,
  nowMs: number,
): Finding[] {
  const known = new Set([...services.map(({ name }) => name), ...entries]);
  return calendars.flatMap((calendar): Finding[] => {
    const { name } = calendar;
    const unknown = services.length === 0 ? [] : (calendar.services ?? []).filter((each) => !known.has(each));
    const isOver = calendarTimes(calendar).windowAt(nowMs) === undefined;
    return [
      ...(unknown.length === 0
        ? []
        : [
            {
              subject,
              level: "problem" as const,
              message: `calendar '${name}' names ${unknown.slice(0, 5).join(", ")}, which 'services' does not list: it holds for nobody`,
              remedy: `write one of ${[...known].slice(0, 10).join(", ")}, or list the service`,
            },
          ]),
      ...(isOver
        ? [
            {
              subject,
              level: "problem" as const,
              message: `calendar '${name}' is over: no window from '${calendar.from}' until '${calendar.until}' comes any more`,
              remedy: "remove it, or write its next date",
            },
          ]
        : []),
    ];
  });
}

type Sources = Parameters<typeof makeSources>[0];

/** All sources, asked once and not for longer than the doctor may wait. */
async function examineAll(
  sources: Sections["sources"],
  timeoutSeconds: number,
  application: Application | undefined,
  nowMs: number,
): Promise<Finding[]> {
  const brief = <Options extends { timeoutSeconds: number; maxAttempts: number }>(
    options: Options,
  ): Options => ({
    ...options,
    timeoutSeconds: Math.min(options.timeoutSeconds, timeoutSeconds),
    maxAttempts: 1,
  });
  const { opencost, prometheus } = sources;
  const asked = { prometheus: prometheus.map(brief), ...mapTraceOptions(sources, brief) };
  return [
    ...(await examineSources(asked, application, nowMs)),
    ...(opencost === undefined ? [] : await new OpenCostPrices(brief(opencost)).check()),
  ];
}

async function examineSources(
  config: Sources,
  application: Application | undefined,
  nowMs: number,
): Promise<Finding[]> {
  const { prometheus, spans } = makeSources(config, application);
  const all = [...prometheus, ...spans];
  try {
    return (await Promise.all(all.map(async (source) => source.check(nowMs)))).flat();
  } finally {
    await Promise.all(all.map(async (source) => source.close()));
  }
}
