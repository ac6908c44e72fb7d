import { z } from "zod";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import type { ListedApplication } from "@tradewind/core/contract/application-list.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { clockFinding, problem } from "../sources/check.ts";
import { EndpointClient } from "../sources/http/client.ts";
import { EndpointOptions } from "../sources/http/endpoint.ts";
import type { Finding } from "../sources/source.ts";

/** Older than this a snapshot or plan says little about now. */
const FRESH_SECONDS = 60;

/** How our own processes are asked. */
export interface Access {
  readonly timeoutSeconds: number;
  /** File with a token that they take. */
  readonly tokenFile?: string | undefined;
  /** File with the authority of their certificates. */
  readonly caFile?: string | undefined;
}

const REMEDIES = {
  tls: "give --ca-file the authority of its certificate, and a URL with a name that is in it; http:// without --http-tls-cert",
  refused: "give --token-file a token that it takes",
};

const Recommendations = z.looseObject({ recommendations: z.array(z.unknown()).optional() });

/** Asks one of our own processes something; hands its answer to `look`. */
async function asked<Schema extends z.ZodType>(
  subject: string,
  url: string,
  { caFile, timeoutSeconds, tokenFile }: Access,
  question: {
    readonly path: string;
    readonly query?: Readonly<Record<string, string>>;
    readonly schema: Schema;
    readonly remedy: string;
  },
  look: (answer: z.output<Schema>) => Finding[],
): Promise<Finding[]> {
  const options = EndpointOptions.parse({
    url,
    timeoutSeconds,
    maxAttempts: 1,
    ...(tokenFile !== undefined && { bearerTokenFile: tokenFile }),
    ...(caFile !== undefined && { tls: { caFile } }),
  });
  const client = new EndpointClient(subject, "tradewind", options, { remedies: REMEDIES });
  try {
    const answer = await client.json({ path: question.path, query: question.query ?? {} }, question.schema);
    return [...look(answer), ...clockFinding(subject, client.health)];
  } catch (error) {
    const finding = problem(subject, error);
    const silent = client.health.lastProblem?.failure === "unreachable";
    return [silent ? { ...finding, remedy: question.remedy } : finding];
  } finally {
    await client.close();
  }
}

export async function checkAgent(url: string, access: Access, nowMs: number): Promise<Finding[]> {
  const subject = `agent ${url}`;
  const remedy = "start `tradewind agent` on that node, or correct --agents";
  return asked(subject, url, access, { path: "v1/snapshot", schema: Snapshot, remedy }, (snapshot) => {
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

const START_PREDICTOR = "start `tradewind predictor`, or correct --predictor";

/** Its plan, or where it plans several applications that of each. */
export async function checkPredictor(url: string, access: Access, nowMs: number): Promise<Finding[]> {
  const subject = `predictor ${url}`;
  let several: ApplicationList["applications"] = [];
  const question = { path: "v1/applications", schema: ApplicationList, remedy: START_PREDICTOR };
  await asked(subject, url, access, question, (list) => {
    if (list.several) several = list.applications;
    return [];
  });
  if (several.length === 0) return checkPlan({ subject, url, query: {} }, access, nowMs);
  const wrong = several.map((each) => applicationFindings(subject, each));
  const plans = several.map(async ({ name = "", namespace = "", state }) => {
    if (state !== "planned") return [];
    const query = { namespace, application: name };
    const plan = { subject: `${subject} application ${namespace}/${name}`, url, query };
    return checkPlan(plan, access, nowMs);
  });
  return [...wrong, ...(await Promise.all(plans))].flat();
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

async function checkPlan(
  {
    query,
    subject,
    url,
  }: { readonly subject: string; readonly url: string; readonly query: Readonly<Record<string, string>> },
  access: Access,
  nowMs: number,
): Promise<Finding[]> {
  const question = { path: "v1/plan", query, schema: Plan, remedy: START_PREDICTOR };
  return asked(subject, url, access, question, (plan) => {
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
    if (incomplete.length === 0) return [ok];
    return [
      ok,
      {
        subject,
        level: "warning",
        message: `latency, load or replicas are not known of ${incomplete.slice(0, 5).join(", ")}`,
        remedy: "check that their names in traces or metrics are those of the workloads",
      },
    ];
  });
}

export async function checkExporter(url: string, access: Access): Promise<Finding[]> {
  const subject = `exporter ${url}`;
  const remedy = "start `tradewind exporter`, or correct --exporter";
  const question = {
    path: "v1/recommendations",
    schema: z.union([Recommendations, z.array(z.unknown())]),
    remedy,
  };
  return asked(subject, url, access, question, (answer) => {
    const list = Array.isArray(answer) ? answer : (answer.recommendations ?? []);
    if (list.length > 0) return [{ subject, level: "ok", message: `${list.length} recommendations` }];
    return [
      {
        subject,
        level: "warning",
        message: "answers but has no recommendation yet",
        remedy: "wait for the first plan; if none comes, check the exporter's --predictor",
      },
    ];
  });
}
