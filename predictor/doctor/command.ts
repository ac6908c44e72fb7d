import type { Command } from "commander";
import { parseWith } from "@tradewind/core/config.ts";
import { addAccessFlags } from "@tradewind/core/endpoint/own-process.ts";
import type { Finding } from "../sources/source.ts";
import { DoctorOptions } from "./options.ts";

const EXAMPLES = `
Examples:
  $ tradewind doctor --config app.yaml
  $ tradewind doctor --config app.yaml --agents http://127.0.0.1:9810 --predictor http://127.0.0.1:9811 --json

Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 the command line must be changed.`;

/** Adds the doctor's description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Ask every configured server whether it answers and holds what is needed; say what to mend.")
    .option(
      "--config <file>",
      "application and sources, YAML or JSON; or crd:namespace/name. Several: a directory, crd:namespace/*, or the flag again",
      oneMore,
      [],
    )
    .option("--sources <file>", "sections `sources` and `store`, where --config names a resource or several")
    .option("--agents <urls>", "addresses of the node agents, separated by commas", urlList, [])
    .option("--predictor <url>", "address of the predictor, for example http://127.0.0.1:9811")
    .option("--exporter <url>", "address of the scaler, for example http://127.0.0.1:9812")
    .option(
      "--workloads <source>",
      "kubernetes[:namespace,…]: whether the cluster can be read, as the predictor would",
    )
    .option("--kubeconfig <file>", "how to reach the cluster from outside of it")
    .option("--state <dir>", "the predictor's state directory");
  addAccessFlags(command, "each of these processes")
    .option("--json", "print one JSON object instead of text", false)
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Record<string, unknown> & { timeout: number; json: boolean }) => {
      const { timeout, json, ...rest } = flags;
      const options = parseWith(DoctorOptions, { ...rest, timeoutSeconds: timeout }, "the doctor's options");
      const { examine } = await import("./doctor.ts");
      const findings = await examine(options, Date.now());
      const healthy = findings.every(({ level }) => level !== "problem");
      process.stdout.write(json ? `${JSON.stringify({ healthy, findings })}\n` : inWords(findings));
      process.exitCode = healthy ? 0 : 1;
    });
}

const MARKS = { ok: "ok      ", warning: "warning ", problem: "PROBLEM " } as const;

/** One line per finding, the remedy under it; problems last, where the eye rests. */
export function inWords(findings: readonly Finding[]): string {
  const order = ["ok", "warning", "problem"];
  const lines: string[] = [];
  for (const finding of [...findings].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))) {
    lines.push(`${MARKS[finding.level]}${finding.subject}: ${finding.message}`);
    if (finding.remedy !== undefined) lines.push(`        -> ${finding.remedy}`);
  }
  const problems = findings.filter(({ level }) => level === "problem").length;
  const summary = problems === 0 ? "Nothing must be mended." : `${problems} thing(s) must be mended.`;
  return `${[...lines, "", summary].join("\n")}\n`;
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
