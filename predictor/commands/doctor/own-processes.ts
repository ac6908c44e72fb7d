import { z } from "zod";
import { DEFAULT_NAME } from "@tradewind/core/net/access-tokens.ts";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import type { ListedApplication } from "@tradewind/core/contract/application-list.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { RouteList } from "@tradewind/core/contract/route-list.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { clientOf } from "@tradewind/core/net/endpoint/own-process.ts";
import type { OwnProcess, ProcessAccess } from "@tradewind/core/net/endpoint/own-process.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { mappingOf, unmappedNames } from "../../decide/facts/unmapped.ts";
import { clockFinding, problem } from "../../sources/check.ts";
import type { Finding } from "../../sources/source.ts";

/** Older than this a snapshot or plan says little about now. */
const FRESH_SECONDS = 60;
/** Names without a workload, and surprises of routes, that are listed. */
const MOST_NAMES = 10;

const Served = z.looseObject({ service: z.string().optional(), valid: z.boolean().optional() });
const Recommendations = z.looseObject({
  recommendations: z.array(Served).optional(),
  predictor: z.looseObject({ reachable: z.boolean().optional(), problem: z.string().optional() }).optional(),
  applications: z
    .array(z.looseObject({ namespace: z.string(), name: z.string(), problem: z.string().optional() }))
    .optional(),
});

/** Asks one of our own processes something; hands its answer to `look`. */
async function asked<Schema extends z.ZodType>(
  own: OwnProcess,
  access: ProcessAccess,
  call: { readonly path: string; readonly query?: Readonly<Record<string, string>> },
  schema: Schema,
  look: (answer: z.output<Schema>, subject: string) => Finding[],
): Promise<Finding[]> {
  const client = clientOf(own, access);
  const subject = client.health.name;
  try {
    const answer = await client.json(call, schema);
    return [...look(answer, subject), ...clockFinding(subject, client.health)];
  } catch (error) {
    return [problem(subject, error)];
  } finally {
    await client.close();
  }
}

export async function checkAgent(url: string, access: ProcessAccess, nowMs: number): Promise<Finding[]> {
  const agent = { name: "agent" as const, url, flag: "--agents" };
  return asked(agent, access, { path: "v1/snapshot" }, Snapshot, (snapshot, subject) => {
    const ageSeconds = (nowMs - snapshot.takenAtMs) / 1_000;
    const containers = snapshot.containers.length;
    if (Math.abs(ageSeconds) > FRESH_SECONDS) {
      const what =
        ageSeconds > 0 ? `${ageSeconds.toFixed(0)} s old` : `${(-ageSeconds).toFixed(0)} s in the future`;
      return [
        {
          subject,
          level: "problem",
          message: `the snapshot of node ${snapshot.node} is ${what}`,
          remedy: "check the clocks of both machines, and whether the agent is short of CPU",
        },
      ];
    }
    const ok: Finding = {
      subject,
      level: "ok",
      message: `node ${snapshot.node}, ${containers} containers`,
    };
    const unmeasured = snapshot.containers.filter(({ cpu }) => cpu.usageSecondsTotal === undefined).length;
    if (unmeasured > 0) {
      const what = `node ${snapshot.node}: the CPU use of ${unmeasured} of ${containers} containers is not known`;
      const remedy =
        "where several containers share a sandbox (gVisor, Kata) only their pod's is: docs/agent.md#containers-and-their-names";
      return [ok, { subject, level: "warning", message: what, remedy }];
    }
    if (containers > 0) return [ok];
    return [
      {
        subject,
        level: "warning",
        message: `node ${snapshot.node} shows no containers`,
        remedy: "set --cgroup-root to where the pods' cgroups are, and check the agent's rights to read them",
      },
    ];
  });
}

/** Its plan, or where it plans several applications that of each. */
export async function checkPredictor(url: string, access: ProcessAccess, nowMs: number): Promise<Finding[]> {
  const predictor = { name: "predictor" as const, url, flag: "--predictor" };
  let several: ApplicationList["applications"] = [];
  let wrong: Finding[] = [];
  await asked(predictor, access, { path: "v1/applications" }, ApplicationList, (list, subject) => {
    if (!list.several) return [];
    several = list.applications;
    wrong = several.flatMap((each) => applicationFindings(subject, each));
    return [];
  });
  if (several.length === 0) return checkPlan(predictor, undefined, access, nowMs);
  const plans = several.map(async (each) =>
    each.state === "planned" ? checkPlan(predictor, each, access, nowMs) : [],
  );
  return [...wrong, ...(await Promise.all(plans)).flat()];
}

function applicationFindings(
  subject: string,
  { name, namespace, origin, problem: wrong, state }: ListedApplication,
): Finding[] {
  const what = name === undefined ? origin : `${namespace ?? ""}/${name}`;
  if (state === "deleted") return [{ subject, level: "warning", message: `application ${what} was deleted` }];
  if (wrong === undefined) return [];
  const remedy = "correct it; the other applications are planned meanwhile";
  return [{ subject, level: "problem", message: `application ${what}: ${wrong}`, remedy }];
}

/** @param application of several the one whose plan is looked at */
async function checkPlan(
  predictor: OwnProcess,
  application: ListedApplication | undefined,
  access: ProcessAccess,
  nowMs: number,
): Promise<Finding[]> {
  const { name = "", namespace = "" } = application ?? {};
  const query = application === undefined ? {} : { namespace, application: name };
  const ofPlan = await asked(predictor, access, { path: "v1/plan", query }, Plan, (plan, process) => {
    const subject = application === undefined ? process : `${process} application ${namespace}/${name}`;
    const ageSeconds = (nowMs - plan.plannedAtMs) / 1_000;
    if (ageSeconds > FRESH_SECONDS) {
      return [
        {
          subject,
          level: "problem",
          message: `the last plan is ${ageSeconds.toFixed(0)} s old`,
          remedy: "see the predictor's log; windows close only when its clock and its event loop run",
        },
      ];
    }
    const incomplete = plan.wishes.filter(({ observed }) => !observed.complete).map(({ service }) => service);
    const ok: Finding = {
      subject,
      level: "ok",
      message: `plan ${plan.sequence} for ${plan.wishes.length} services by policy ${plan.policy}`,
    };
    const missing = (plan.missing ?? []).map((words): Finding => ({
      subject,
      level: "warning",
      message: `the plan is not of all traffic: ${words}`,
      remedy:
        "what was measured stays, and nothing is scaled down: docs/windows.md#silence-and-what-is-missing",
    }));
    if (incomplete.length === 0) return [ok, ...missing];
    return [
      ok,
      ...missing,
      {
        subject,
        level: "warning",
        message: `latency, load or replicas are not known of ${incomplete.slice(0, 5).join(", ")}`,
        remedy: "check that their names in traces or metrics are those of the workloads",
      },
    ];
  });
  if (!ofPlan.some(({ level }) => level === "ok")) return ofPlan;
  const ofNames = await asked(
    predictor,
    access,
    { path: "v1/windows", query },
    WindowSet,
    ({ windows }, subject) =>
      unmappedNames(windows)
        .slice(0, MOST_NAMES)
        .map((name): Finding => Object.assign({ subject, level: "warning" as const }, mappingOf(name))),
  );
  const ofRoutes = await asked(
    predictor,
    access,
    { path: "v1/routes", query },
    RouteList,
    ({ surprises }, subject) =>
      surprises.slice(0, MOST_NAMES).map(({ about, message, remedy }): Finding => ({
        subject,
        level: "warning",
        message: `'${about}': ${message}`,
        remedy,
      })),
  );
  // Whether it answers at all, and by which clock, its plan has told.
  const told = new Set(ofPlan.map(({ message }) => message));
  const more = [...ofNames, ...ofRoutes];
  return [...ofPlan, ...more.filter(({ level, message }) => level === "warning" && !told.has(message))];
}

const Changes = z.looseObject({
  token: z.looseObject({ name: z.string(), scopes: z.array(z.string()) }).optional(),
});

export async function checkScaler(url: string, access: ProcessAccess): Promise<Finding[]> {
  const scaler = { name: "scaler" as const, url, flag: "--scaler" };
  const findings = await Promise.all([checkDecisions(scaler, access), checkToken(scaler, access)]);
  return findings.flat();
}

/** Whether the token that `doctor` shows is one for everything. What keeps the scaler from answering its decisions say. */
async function checkToken(scaler: OwnProcess, access: ProcessAccess): Promise<Finding[]> {
  const client = clientOf(scaler, access);
  try {
    const { token } = await client.json({ path: "v1/changes" }, Changes);
    if (token?.name !== DEFAULT_NAME || !token.scopes.includes("approve")) return [];
    return [
      {
        subject: client.health.name,
        level: "warning",
        message: "its token has no name: whoever can read it, as a scrape does, also approves large changes",
        remedy: "give tokens names and scopes: docs/kubernetes.md#tokens-with-names",
      },
    ];
  } catch {
    return [];
  } finally {
    await client.close();
  }
}

async function checkDecisions(scaler: OwnProcess, access: ProcessAccess): Promise<Finding[]> {
  return asked(scaler, access, { path: "v1/recommendations" }, Recommendations, (answer, subject) => {
    const { applications = [], predictor = {}, recommendations: list = [] } = answer;
    const wrong = (message: string, remedy: string): Finding => ({
      subject,
      level: "problem",
      message,
      remedy,
    });
    const expired = list.filter(({ valid }) => valid === false).map(({ service = "?" }) => service);
    const findings = [
      ...(predictor.reachable === false
        ? [
            wrong(
              `it reaches no predictor: ${predictor.problem ?? "no reason given"}`,
              "check the scaler's --predictor, and what lies between the two: network policies, token, certificate",
            ),
          ]
        : []),
      ...applications
        .filter(({ problem: each }) => each !== undefined)
        .map(({ name, namespace, problem: each }) =>
          wrong(`application ${namespace}/${name}: ${each}`, "its decisions are served until they expire"),
        ),
      ...(expired.length > 0
        ? [
            wrong(
              `${expired.length} of ${list.length} recommendations have expired: ${expired.slice(0, 5).join(", ")}`,
              "KEDA is answered UNAVAILABLE for them; a new plan ends it, so look at the predictor first",
            ),
          ]
        : []),
    ];
    if (findings.length > 0) return findings;
    if (list.length > 0) return [{ subject, level: "ok", message: `${list.length} recommendations` }];
    return [
      {
        subject,
        level: "warning",
        message: "answers but has no recommendation yet",
        remedy: "wait for the first plan; if none comes, check the scaler's --predictor",
      },
    ];
  });
}
