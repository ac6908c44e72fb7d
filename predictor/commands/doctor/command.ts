import { writeFile } from "node:fs/promises";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { addAccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import type { Finding } from "../../sources/source.ts";
import { DoctorOptions } from "./options.ts";

const EXAMPLES = `
Examples:
  $ tradewind doctor --config app.yaml
  $ tradewind doctor --predictor http://127.0.0.1:9811 --scaler http://127.0.0.1:9812
  $ tradewind doctor --config app.yaml --workloads kubernetes --listen 60s --collector-config collector.yaml
  $ tradewind doctor --config app.yaml --agents http://127.0.0.1:9810 --predictor http://127.0.0.1:9811 --json

${exitCodes("no problem (there may be warnings)", "a problem")}`;

/** Adds the doctor's description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Ask every configured server whether it answers and holds what is needed; say what to do.")
    .option(
      "--config <file>",
      "application and sources, YAML or JSON; or crd:namespace/name. Several: a directory, crd:namespace/*, or the flag again",
      oneMore,
      [],
    )
    .option("--sources <file>", "sections `sources` and `store`, where --config names a resource or several")
    .option("--agents <urls>", "addresses of the node agents, separated by commas", urlList, [])
    .option("--predictor <url>", "address of the predictor, for example http://127.0.0.1:9811")
    .option("--scaler <url>", "address of the scaler, for example http://127.0.0.1:9812")
    .addOption(new Option("--exporter <url>", "the same as --scaler").hideHelp())
    .option(
      "--workloads <source>",
      "kubernetes[:namespace,…]: whether the cluster can be read, as the predictor would",
    )
    .option("--kubeconfig <file>", "how to reach the cluster from outside of it")
    .option("--state <dir>", "the predictor's state directory")
    .option(
      "--listen <duration>",
      "receive OTLP and Zipkin for so long, for example 60s: report senders, delays, sampling and names, and write a Collector's configuration",
      durationArgument,
    )
    .option("--otlp-listen <host:port>", "where --listen receives over HTTP", "127.0.0.1:4318")
    .option("--otlp-grpc-listen <host:port>", "where --listen receives over gRPC", "127.0.0.1:4317")
    .option(
      "--grace <duration>",
      "how long the predictor waits for spans, as its own flag",
      durationArgument,
      5,
    )
    .option(
      "--collector-config <file>",
      "where --listen writes the Collector's configuration instead of printing it",
    );
  addJsonFlag(addAccessFlags(command, "each of these processes"))
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Record<string, unknown> & { timeout: number; json: boolean }) => {
      const {
        exporter,
        grace: graceSeconds,
        json,
        listen: listenSeconds,
        scaler = exporter,
        timeout,
        tlsServerName: serverName,
        ...rest
      } = flags;
      const given = { ...rest, graceSeconds, listenSeconds, scaler, serverName, timeoutSeconds: timeout };
      const options = parseWith(DoctorOptions, given, "the doctor's options");
      const { examine, examineTraffic, NOTHING } = await import("./doctor.ts");
      const heard =
        options.listenSeconds === undefined ? undefined : await examineTraffic(options, sayListening);
      const findings = [...(await examine(options, Date.now())), ...(heard?.findings ?? [])];
      const healthy = findings.every(({ level }) => level !== "problem");
      const collector = await keptOrShown(heard?.collector, options.collectorConfig);
      const text = (paint: Paint): string =>
        [
          inWords(findings, paint),
          ...(collector === undefined ? [] : ["", "For a Collector:", collector]),
        ].join("\n");
      printAnswer({ json: { healthy, findings, ...(collector && { collector }) }, text }, json);
      process.exitCode = healthy ? 0 : findings.includes(NOTHING) ? 2 : 1;
    });
}

function durationArgument(text: string): number {
  try {
    return parseDurationSeconds(text);
  } catch (error) {
    throw new InvalidArgumentError(describeError(error));
  }
}

/** On standard error: what is printed at the end may be read by a program. */
function sayListening(endpoints: readonly string[]): void {
  process.stderr.write(`listening on ${endpoints.join(" and ")}\n`);
}

/** Writes the configuration to its file, where one is named. @returns what is left to be shown */
async function keptOrShown(yaml: string | undefined, path: string | undefined): Promise<string | undefined> {
  if (yaml === undefined || yaml === "" || path === undefined) return yaml === "" ? undefined : yaml;
  await writeFile(path, yaml);
  return undefined;
}

const MARKS = { ok: "ok      ", warning: "warning ", problem: "PROBLEM " } as const;

const TONES = { ok: "green", warning: "yellow", problem: "red" } as const;

/** One line per finding, the remedy under it; problems last, where the eye rests. */
export function inWords(findings: readonly Finding[], paint: Paint): string {
  const order = ["ok", "warning", "problem"];
  const lines: string[] = [];
  for (const finding of [...findings].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))) {
    lines.push(`${paint(TONES[finding.level], MARKS[finding.level])}${finding.subject}: ${finding.message}`);
    if (finding.remedy !== undefined) lines.push(`        -> ${finding.remedy}`);
  }
  const counted = (level: Finding["level"], noun: string): string[] => {
    const { length } = findings.filter((finding) => finding.level === level);
    return length === 0 ? [] : [`${length} ${noun}${length === 1 ? "" : "s"}`];
  };
  const found = [...counted("problem", "problem"), ...counted("warning", "warning")];
  const summary = found.length === 0 ? "No problems found." : `${found.join(" and ")} found.`;
  return [...lines, "", summary].join("\n");
}

function oneMore(text: string, before: readonly string[]): string[] {
  return [...before, text];
}

function urlList(text: string): string[] {
  return text
    .split(",")
    .map((url) => url.trim())
    .filter((url) => url !== "");
}
