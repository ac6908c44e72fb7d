/**
 * A rule of the linter: every regular expression takes time linear in the length of the text, proved by recheck.
 * One that cannot meet long text is let through by `// oxlint-disable-next-line patterns/linear -- why not`.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { checkSync, Diagnostics } from "recheck";

// In this thread and by its own JavaScript: the same verdicts on every machine.
process.env["RECHECK_SYNC_BACKEND"] = "pure";
const require = createRequire(import.meta.url);
const CACHE = join(import.meta.dirname, "../node_modules/.cache/tradewind-patterns");
/** A proof by automata, never a search: no look-around, and the same verdict however busy the machine is. */
const PROOF = {
  checker: "automaton",
  timeout: null,
  attackTimeout: null,
  maxNFASize: 1_000_000,
  maxPatternSize: 100_000,
} as const;
const { version } = require("recheck/package.json") as { readonly version: string };

/** The parts of the linter's syntax tree that are looked at. */
interface Node {
  readonly type: string;
  readonly regex?: { readonly pattern: string; readonly flags: string } | null;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked?: string | null } }[];
}
interface Construction extends Node {
  readonly callee: { readonly type: string; readonly name?: string };
  readonly arguments: readonly Node[];
}
interface Context {
  report(finding: { readonly node: Node; readonly message: string }): void;
}

/** What is wrong with an expression; empty where nothing is. Some proofs take seconds: each is made once. */
function problemOf(source: string, flags: string): string {
  const file = join(
    CACHE,
    createHash("sha256")
      .update(JSON.stringify([version, PROOF, source, flags]))
      .digest("hex"),
  );
  try {
    return readFileSync(file, "utf8");
  } catch {
    const recheck = require("recheck") as { readonly checkSync: typeof checkSync };
    const problem = inWords(recheck.checkSync(source, flags, PROOF));
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(file, problem);
    return problem;
  }
}

function inWords(found: Diagnostics): string {
  if (found.status === "safe") return "";
  if (found.status === "unknown")
    return `cannot be proved to be linear (${"message" in found.error ? found.error.message : found.error.kind})`;
  return `takes ${found.complexity.summary} time, for example on ${found.attack.pattern}`;
}

function check(context: Context, node: Node, source: string, flags: string): void {
  const problem = problemOf(source, flags);
  if (problem === "") return;
  const message = `/${source}/${flags} ${problem}. Make it linear, or say behind \`--\` of a directive what bounds the text.`;
  context.report({ node, message });
}

/** Constant text; undefined where it has variable parts. */
function textOf(node: Node | undefined): string | undefined {
  if (typeof node?.value === "string") return node.value;
  return node?.type === "TemplateLiteral" && node.quasis?.length === 1
    ? (node.quasis[0]?.value.cooked ?? undefined)
    : undefined;
}

function checkConstruction(context: Context, node: Construction): void {
  if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return;
  const source = textOf(node.arguments[0]);
  if (source !== undefined) check(context, node, source, textOf(node.arguments[1]) ?? "");
}

const linear = {
  create: (context: Context) => ({
    Literal: (node: Node) => node.regex && check(context, node, node.regex.pattern, node.regex.flags),
    NewExpression: (node: Construction) => checkConstruction(context, node),
    CallExpression: (node: Construction) => checkConstruction(context, node),
  }),
};

export default { meta: { name: "patterns" }, rules: { linear } };
