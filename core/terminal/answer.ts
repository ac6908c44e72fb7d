import type { Command } from "commander";
import { printable } from "../values/printable.ts";
import { choosePaint, plain } from "./style.ts";
import type { Paint } from "./style.ts";

/** What a command found: one object for programs, and lines for people. */
export interface Answer {
  readonly json: object;
  /** Without the last end of line. */
  readonly text: (paint: Paint) => string;
}

/** What commander gives for the flag of {@link addJsonFlag}. */
export interface JsonFlag {
  readonly json: boolean;
}

/** Adds `--json`. @param what the object, for example `the answer of /v1/explain` */
export function addJsonFlag(command: Command, what = "one JSON object"): Command {
  return command.option("--json", `print ${what} instead of text`, false);
}

/** Prints to standard output, with colours on a terminal only. */
export function printAnswer({ json, text }: Answer, asJson: boolean): void {
  if (asJson) return printJson(json);
  const paint = choosePaint(process.stdout.isTTY, process.env);
  process.stdout.write(`${printable(text(paint), paint !== plain)}\n`);
}

/** Prints one line of JSON to standard output. */
export function printJson(json: object): void {
  process.stdout.write(`${printable(JSON.stringify(json))}\n`);
}

/** The last lines of a command's help. @param done what 0 means @param failed what 1 means @param more further ones */
export function exitCodes(done: string, failed: string, more?: string): string {
  const codes = [
    `0 ${done}`,
    `1 ${failed}`,
    "2 the command line, or a file that it names, must be changed",
    ...(more === undefined ? [] : [more]),
  ];
  return `Exit codes: ${codes.join("; ")}.`;
}
