import { SCHEMA_FILE } from "@tradewind/kubernetes/init/editor-schema.ts";
import { replicaBounds } from "@tradewind/kubernetes/init/write-application.ts";
import { routeSection, STYLE } from "../backtest/report/html.ts";
import { escapeHtml } from "../backtest/report/svg.ts";
import { LIMITS } from "../backtest/report/words.ts";
import type { TryFile } from "./files.ts";
import { FOLDERS } from "./files.ts";
import type { Insight } from "./insight.ts";
import { objectiveWords, outcomes, replayedTime, steps, verdict } from "./words.ts";

/** What a page says besides the insight. */
export interface PageFacts {
  readonly namespace: string;
  /** Where the past was read, in words. */
  readonly source: string;
  readonly notes: readonly string[];
  readonly folder: string;
  readonly files: readonly TryFile[];
}

const row = (cells: readonly string[], tag: "td" | "th" = "td"): string =>
  `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="scroll"><table>${row(head, "th")}${rows.map((cells) => row(cells)).join("")}</table></div>`;

const list = (items: readonly string[]): string =>
  items.length === 0 ? "" : `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ul>`;

function whatThereIs({ called, proposed }: Insight): string {
  const { leftOut, workloads } = proposed.surveyed;
  const rows = workloads.map((each) => {
    const { autoscaler, container, scaledObject, service, workload } = each;
    const { max, min } = replicaBounds(each);
    const scaler = autoscaler ?? scaledObject;
    const { cpuCores } = container?.resources.requests ?? {};
    return [
      service,
      workload.kind,
      String(workload.replicasWanted),
      cpuCores === undefined ? "not stated" : `${cpuCores} cores`,
      scaler === undefined
        ? "none"
        : `${autoscaler === undefined ? "ScaledObject" : "HPA"} ${scaler.name}${autoscaler === undefined ? "" : `: ${autoscaler.measures.join(", ")}`}`,
      `${min} to ${max}`,
      called.includes(service) ? "yes" : "no",
    ];
  });
  const head = ["service", "kind", "replicas", "CPU request", "scaled by", "bounds", "requests seen"];
  const out = leftOut.map(({ name, reason }) => `${name}: ${reason}`);
  return `${table(head, rows)}${out.length === 0 ? "" : `<p>Left alone:</p>${list(out)}`}`;
}

function whatWouldHaveHappened({ report, unreplayed }: Insight): string {
  if (report === undefined) return `<p>${escapeHtml(unreplayed ?? "")}</p>`;
  const rows = outcomes(report).map(({ cost, pods, slow, source, what }) => [what, source, slow, cost, pods]);
  return `<p>${escapeHtml(replayedTime(report))}. In brackets: with latencies off as in the best and the worst twentieth of the hours that were judged.</p>
${table(["run by", "figures", "requests over the objective", "cost per hour", "pods"], rows)}`;
}

/** One page without scripts, styles or pictures from elsewhere. */
export function tryPage(insight: Insight, { files, folder, namespace, notes, source }: PageFacts): string {
  const { application, entryFrom, report } = insight;
  const title = `What Tradewind would do for ${namespace}`;
  const hasBack = files.some(({ name }) => name.startsWith(`${FOLDERS.back}/`));
  const commands = steps(folder, namespace, hasBack)
    .map(({ command, what }) => `<li>${escapeHtml(what)}<pre>${escapeHtml(command)}</pre></li>`)
    .join("");
  const written = files
    .filter(({ name }) => !name.endsWith(SCHEMA_FILE))
    .map(
      ({ name, text }) =>
        `<details><summary>${escapeHtml(name)}</summary><pre>${escapeHtml(text)}</pre></details>`,
    )
    .join("");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title><style>${STYLE}
pre{overflow-x:auto;padding:.5rem;border:1px solid var(--line);font-size:13px}td{vertical-align:top}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p><strong>${escapeHtml(verdict(insight))}</strong></p>
<p>Objective: ${escapeHtml(objectiveWords(insight))}. Users call ${escapeHtml(application.entries.join(", "))} (${escapeHtml(entryFrom)}). Read from ${escapeHtml(source)}; nothing was changed.</p>
<h2>Can it be believed?</h2>
${report === undefined ? "<p>There is no model to judge.</p>" : report.routes.map((route) => routeSection(route, report.objectiveSeconds)).join("\n")}
<h2>What would have happened</h2>
${whatWouldHaveHappened(insight)}
<h2>What you have</h2>
${whatThereIs(insight)}
${list(notes)}
<h2>What to apply</h2>
<ol>${commands}</ol>
<p>For Argo CD and Flux, ${escapeHtml(FOLDERS.observe)} and ${escapeHtml(FOLDERS.act)} are folders with a kustomization. The same findings give the same files.</p>
${written}
<h2>What this does not show</h2>
${list(LIMITS)}
</body></html>
`;
}
