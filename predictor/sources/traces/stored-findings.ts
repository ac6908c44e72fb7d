import type { SpanRecord } from "../../window/span.ts";
import type { Finding } from "../source.ts";

interface StoredTrace {
  readonly spans: readonly SpanRecord[];
  /** Spans that could not be understood. */
  readonly leftOut: number;
  /** The store itself lacks a part of it. */
  readonly isPartial?: boolean | undefined;
}

/** What a few stored traces say about how the store holds them. */
export function storedFindings(subject: string, traces: readonly StoredTrace[]): Finding[] {
  const findings: Finding[] = [];
  const partial = traces.filter(({ isPartial }) => isPartial === true).length;
  if (partial > 0) {
    findings.push({
      subject,
      level: "problem",
      message: `${partial} of ${traces.length} traces are partial, says the server: rates of services behind the entry are too low`,
      remedy: "raise the server's limit of bytes for one trace, and check that all of its parts are up",
    });
  }
  const leftOut = traces.reduce((sum, trace) => sum + trace.leftOut, 0);
  if (leftOut > 0) {
    findings.push({
      subject,
      level: "problem",
      message: `${leftOut} parts of ${traces.length} traces cannot be understood`,
      remedy: "check that the url is that of the API which the source's kind and api name",
    });
  }
  const counts = traces.flatMap(({ spans }) => spans.flatMap(({ adjustedCount }) => adjustedCount ?? []));
  const largest = Math.max(0, ...counts.slice(0, 1_000));
  if (largest > 1) {
    findings.push({
      subject,
      level: "ok",
      message: `traces are sampled, and say so: each span counts for up to ${largest.toFixed(0)}`,
    });
  }
  return findings;
}
