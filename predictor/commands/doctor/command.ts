import { Option } from "commander";
import type { Command } from "commander";
import { parseWith } from "@tradewind/core/values/config.ts";
import { addAccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import type { Finding } from "../../sources/source.ts";
import { DoctorOptions } from "./options.ts";

const EXAMPLES = `
Examples:
  $ tradewind doctor --config app.yaml
  $ tradewind doctor --predictor http://127.0.0.1:9811 --scaler http://127.0.0.1:9812
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
    .option("--state <dir>", "the predictor's state directory");
  addJsonFlag(addAccessFlags(command, "each of these processes"))
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Record<string, unknown> & { timeout: number; json: boolean }) => {
      const { exporter, json, scaler = exporter, timeout, tlsServerName: serverName, ...rest } = flags;
      const given = { ...rest, scaler, serverName, timeoutSeconds: timeout };
      const options = parseWith(DoctorOptions, given, "the doctor's options");
      const { examine } = await import("./doctor.ts");
      const findings = await examine(options, Date.now());
      const healthy = findings.every(({ level }) => level !== "problem");
      printAnswer({ json: { healthy, findings }, text: (paint) => inWords(findings, paint) }, json);
      process.exitCode = healthy ? 0 : 1;
    });
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
