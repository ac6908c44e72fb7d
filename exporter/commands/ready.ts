import type { Command } from "commander";
import { READY_CHECKS, Readiness, standsAgainst, verdictText } from "@tradewind/core/contract/ready.ts";
import type { ReadyCheck } from "@tradewind/core/contract/ready.ts";
import { accessOf, addAccessFlags, askFor } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { listPages } from "@tradewind/kubernetes/watch/list-pages.ts";
import { recommendationTriggers } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { scalerAt } from "./scalers.ts";

const EXAMPLES = `
Examples:
  $ tradewind ready
  $ tradewind ready --application hotel --cluster
  $ tradewind ready --json | jq -r '.checks[] | select(.isMet | not) | .text'

Looks at an application in mode observe or recommend: how long requests were seen, whether models decide and how far they are off
against the best rule of one line, whether all traffic is seen, how many proposals were reverted, the error budget, and the maximum
of each service. With --cluster also: other autoscalers in the way, and a fallback for when no scaler answers.

${exitCodes("act is safe", "no answer", "3 not yet")}`;

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly application?: string;
  readonly namespace?: string;
  readonly needed: string;
  readonly cluster: boolean;
  readonly kubeconfig?: string;
  readonly json: boolean;
}

const NOT_YET = 3;

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Say whether mode act is safe for an application: act is safe, or not yet, because.")
    .option("--application <name>", "of this application, where the scaler has several")
    .option("--namespace <name>", "of the application in this namespace")
    .option("--needed <duration>", "how much of the last 24 h must have been seen", "20h")
    .option("--cluster", "look at ScaledObjects and HPAs of the cluster too", false)
    .option("--kubeconfig <file>", "how to reach the cluster (default: as kubectl)")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812");
  addJsonFlag(addAccessFlags(command, "the scaler"), "the answer of /v1/ready")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const { application, namespace, needed } = flags;
      const query = {
        ...(application !== undefined && { application }),
        ...(namespace !== undefined && { namespace }),
        needed: String(parseDurationSeconds(needed)),
      };
      const said = await askFor(
        scalerAt(flags.scaler),
        accessOf(flags),
        { path: "v1/ready", query },
        { absent: "no-plan-yet", schema: Readiness },
      );
      const answer = flags.cluster ? withCluster(said, await clusterChecks(said, flags)) : said;
      printAnswer({ json: answer, text: (paint) => inWords(answer, flags.cluster, paint) }, flags.json);
      if (!answer.isSafe) process.exitCode = NOT_YET;
    });
}

type Paint = Parameters<Parameters<typeof printAnswer>[0]["text"]>[0];

function inWords(readiness: Readiness, hasCluster: boolean, paint: Paint): string {
  const { application, checks, isSafe, namespace } = readiness;
  const lines = checks.map(
    (check) => `  ${check.isMet ? paint("green", "ok     ") : noteOf(check, paint)}  ${check.text}`,
  );
  const note = hasCluster ? [] : ["", "Other autoscalers and fallbacks were not looked at: give --cluster."];
  const verdict = paint(isSafe ? "green" : "yellow", verdictText(readiness));
  return [`${namespace}/${application}: ${verdict}`, "", ...lines, ...note].join("\n");
}

const noteOf = (check: ReadyCheck, paint: Paint): string =>
  standsAgainst(check) ? paint("yellow", "not yet") : "note   ";

function withCluster(said: Readiness, more: readonly ReadyCheck[]): Readiness {
  const checks = [...said.checks, ...more].toSorted(
    (a, b) => READY_CHECKS.indexOf(a.code) - READY_CHECKS.indexOf(b.code),
  );
  return { ...said, checks, isSafe: !checks.some(standsAgainst) };
}

const MOST_OBJECTS = 10_000;

async function clusterChecks(
  { namespace }: Readiness,
  { kubeconfig, timeout }: Pick<Flags, "kubeconfig" | "timeout">,
): Promise<ReadyCheck[]> {
  const client = new ApiClient(await connect({ kubeconfig, environment: process.env }), {
    deadlineMs: timeout * 1e3,
  });
  try {
    const scaledObjects: ScaledObject[] = [];
    const hpas: HorizontalPodAutoscaler[] = [];
    const bounds = { pageSize: 500, maxItems: MOST_OBJECTS };
    for (const [resource, schema, into] of [
      [RESOURCES.scaledObjects, ScaledObject, scaledObjects],
      [RESOURCES.horizontalPodAutoscalers, HorizontalPodAutoscaler, hpas],
    ] as const)
      await listPages(
        client,
        { resource, namespace },
        bounds,
        (object) => {
          const { data } = schema.safeParse(object);
          if (data !== undefined) (into as unknown[]).push(data);
        },
        () => into.splice(0),
      );
    return autoscalerChecks(scaledObjects, hpas);
  } finally {
    await client.close();
  }
}

/** Whether something else scales the same workloads, and what KEDA does while no scaler answers. */
export function autoscalerChecks(
  scaledObjects: readonly ScaledObject[],
  hpas: readonly HorizontalPodAutoscaler[],
): ReadyCheck[] {
  const triggers = recommendationTriggers(scaledObjects, hpas);
  const inTheWay = triggers.flatMap(({ multiplies, pause, rivals, scaledObject: { name } }) => [
    ...(rivals.length > 0 ? [`${name}: scaled by ${rivals.join(" and ")} too`] : []),
    ...(multiplies ? [`${name}: metricType Value multiplies what is recommended`] : []),
    ...(pause === undefined ? [] : [`${name}: paused by ${pause.by}`]),
  ]);
  const ours = new Set(triggers.map(({ scaledObject }) => scaledObject.uid));
  const without = scaledObjects.filter(({ hasFallback, uid }) => ours.has(uid) && !hasFallback);
  const names = (all: readonly string[]): string => all.slice(0, 5).join(", ");
  return [
    {
      code: "autoscalers",
      isMet: triggers.length > 0 && inTheWay.length === 0,
      text:
        triggers.length === 0
          ? "no ScaledObject asks Tradewind; apply those that tradewind init writes"
          : inTheWay.length === 0
            ? `${triggers.length} ScaledObjects ask Tradewind, and nothing else scales their workloads`
            : `${inTheWay.length} ScaledObjects have something in the way; ${names(inTheWay)}`,
      facts: { scaledObjects: triggers.length, inTheWay: inTheWay.length },
    },
    {
      code: "fallback",
      isMet: without.length === 0,
      text:
        without.length === 0
          ? "each ScaledObject has a fallback"
          : `${without.length} ScaledObjects have no fallback; write spec.fallback for when no scaler answers: ${names(without.map(({ name }) => name))}`,
      facts: { without: without.length },
    },
  ];
}
