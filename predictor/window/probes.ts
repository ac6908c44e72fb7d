import { SPAN_KIND } from "./span.ts";
import type { SpanBatch } from "./span.ts";
import { HEALTH_PATHS, USER_AGENT } from "./user-agent.ts";

/** The paths that a service's workloads declare for their probes, by service; undefined while workloads are not known. */
export type ProbePaths = () => ReadonlyMap<string, readonly string[]> | undefined;

/** Users ask for it, too. */
const ROOT_PATH = "/";
/** Time until paths that are not known are asked for again. */
const RETRY_MS = 1_000;

/** Tells the spans by which probes of a kubelet begin from those of requests. */
export class Probes {
  /** Root spans taken for probes, by what gave them away. */
  readonly counts = { "user-agent": 0, path: 0 };
  private readonly paths: ProbePaths;
  private readonly refreshMs: number;
  /** Span names of probes, by service. */
  private names: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  private readMs = -Infinity;
  private isKnown = false;

  /** @param refreshMs time between two looks at the paths */
  constructor(paths: ProbePaths, refreshMs: number) {
    this.paths = paths;
    this.refreshMs = refreshMs;
  }

  /** Reads the paths again when it is time. */
  refresh(nowMs: number): void {
    if (Math.abs(nowMs - this.readMs) < (this.isKnown ? this.refreshMs : RETRY_MS)) return;
    this.readMs = nowMs;
    const paths = this.paths();
    this.isKnown = paths !== undefined;
    if (paths === undefined) return;
    this.names = new Map([...paths].map(([service, each]) => [service, new Set(each.flatMap(spanNames))]));
  }

  /** Whether a probe begins with this span, which has no parent; a batch then says so of it. */
  take(batch: SpanBatch, span: number, service: string): boolean {
    if (batch.kind[span] !== SPAN_KIND.server) return false;
    const userAgent = batch.userAgent[span];
    if (userAgent === USER_AGENT.checker) {
      this.counts["user-agent"] += 1;
      return true;
    }
    const name = batch.names[span] ?? "";
    const isDeclared = userAgent === USER_AGENT.unknown && this.names.get(service)?.has(name) === true;
    const isHealth = userAgent === USER_AGENT.health || HEALTH_NAMES.has(name);
    if (!isDeclared && (userAgent === USER_AGENT.browser || !isHealth)) return false;
    batch.userAgent[span] = USER_AGENT.checker;
    this.counts.path += 1;
    return true;
  }
}

/** How instrumentations name the span of a probe: by path, by method and path, and gRPC by service and method. */
function spanNames(path: string): string[] {
  if (path === ROOT_PATH) return [];
  return path.startsWith("/grpc.") ? [path, path.slice(1)] : [path, `GET ${path}`, `HEAD ${path}`];
}

/** Names of spans of those who ask for health and metrics. */
export const HEALTH_NAMES: ReadonlySet<string> = new Set(HEALTH_PATHS.flatMap(spanNames));
