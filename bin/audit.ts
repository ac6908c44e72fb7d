/**
 * Asks the registry for known vulnerabilities of what is shipped: `npm run -s audit`, with `-- --include=dev` of everything. Ends
 * with 0 when the registry answered and knows none, 1 when it knows some, 2 when it did not answer, which is no pass.
 */
import { npmOutput } from "./npm.ts";

interface Verdict {
  readonly text: string;
  readonly exitCode: 0 | 1 | 2;
}

interface Vulnerable {
  readonly severity: string;
  /** Advisories of the package itself, and names of packages that it is vulnerable through. */
  readonly via: readonly (
    string | { readonly title: string; readonly url: string; readonly range: string }
  )[];
}

interface Report {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, Vulnerable>>;
}

/** @param output what `npm audit --json` wrote to standard output */
export function auditVerdict(output: string): Verdict {
  const { message = "npm gave no reason", vulnerabilities } = reportIn(output);
  if (vulnerabilities === undefined) {
    const text = `audit: the registry did not answer, so nothing is known of vulnerabilities: ${message}`;
    return { text, exitCode: 2 };
  }
  const found = Object.entries(vulnerabilities);
  if (found.length === 0) return { text: "audit: the registry knows no vulnerability", exitCode: 0 };
  const lines = found.map(([name, { severity, via }]) => `audit: ${severity}: ${name} ${reasons(via)}`);
  return { text: lines.join("\n"), exitCode: 1 };
}

function reportIn(output: string): Report {
  try {
    return JSON.parse(output) as Report;
  } catch {
    return { message: "npm wrote no report" };
  }
}

const reasons = (via: Vulnerable["via"]): string =>
  via
    .map((each) =>
      typeof each === "string" ? `through ${each}` : `${each.range}: ${each.title} ${each.url}`,
    )
    .join("; ");

if (import.meta.main) {
  const output = npmOutput(["audit", "--json", "--omit=dev", ...process.argv.slice(2)]);
  const { exitCode, text } = auditVerdict(output);
  (exitCode === 0 ? console.log : console.error)(text);
  process.exitCode = exitCode;
}
