import type { Entries } from "./entries.ts";
import { isCall, isServer, isWork } from "./request-model.ts";
import { NONE } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import { DERIVED_KIND, SPAN_KIND } from "./span.ts";
import type { Streams } from "./streams.ts";
import { LOST, ROOT } from "./trace-tree.ts";
import type { TraceTree } from "./trace-tree.ts";

const MAX_FLOW_NAME = 200;

/** Whether a long request is one of a stream: as its caller is, unless it begins a flow. */
const VERDICT = { asCaller: 0, request: 1, stream: 2 } as const;

/** What a request's role follows from, besides its trace. */
export interface RoleSurroundings {
  readonly arena: SpanArena;
  readonly entries: Entries;
  readonly streams: Streams;
  /** Whether a workload of the application has the service. */
  readonly isOurs: (service: number) => boolean;
  readonly nameOf: (service: number) => string;
}

/** What the requests of one trace are: of a stream, work that nobody asked for, the beginning of a flow. */
export class RequestRoles {
  private readonly tree: TraceTree;
  private readonly target: RoleSurroundings;
  /** By number of a span: one of `VERDICT`, for long requests that begin no flow once they were asked about. */
  private verdicts = new Uint8Array(64);

  constructor(tree: TraceTree, surroundings: RoleSurroundings) {
    this.tree = tree;
    this.target = surroundings;
  }

  /** Another trace was loaded into the tree. */
  begin(spans: number): void {
    if (this.verdicts.length < spans) this.verdicts = new Uint8Array(2 * spans);
    else this.verdicts.fill(VERDICT.asCaller, 0, spans);
  }

  /** Whether a request is work of its service that nobody asked for. */
  isWorkAt(span: number): boolean {
    const { parent, slot } = this.tree;
    return parent[span] === ROOT && isWork(this.target.arena.kind(slot[span] ?? 0));
  }

  /** Whether a request is one of a stream; a long one that a stream calls, or a CLIENT span without a parent, is one as well. */
  isStream(span: number): boolean {
    const { arena, streams } = this.target;
    const slot = this.tree.slot[span] ?? 0;
    if (!streams.isLong(arena.durationNs(slot))) return arena.kind(slot) === DERIVED_KIND.stream;
    if (this.isWorkAt(span)) return false;
    let request = span;
    let verdict = this.verdictOf(request);
    while (verdict === VERDICT.asCaller) {
      request = this.callerOf(request);
      verdict = request === NONE ? VERDICT.request : this.verdictOf(request);
    }
    for (let below = span; below !== request; below = this.callerOf(below)) this.verdicts[below] = verdict;
    return verdict === VERDICT.stream;
  }

  /** One of `VERDICT` for a long request or for the caller of one. */
  private verdictOf(request: number): number {
    const { arena, streams } = this.target;
    const slot = this.tree.slot[request] ?? 0;
    const kind = arena.kind(slot);
    if (kind === DERIVED_KIND.stream) return VERDICT.stream;
    if (this.isWorkAt(request)) return isCall(kind) ? VERDICT.stream : VERDICT.request;
    if (!streams.isLong(arena.durationNs(slot))) return VERDICT.request;
    const verdict = this.verdicts[request] ?? VERDICT.asCaller;
    if (verdict !== VERDICT.asCaller || !this.beginsFlow(request)) return verdict;
    const isStreaming = streams.isStreaming(
      this.target.nameOf(arena.service(slot)),
      flowName(arena, slot),
      arena.error(slot) === 1,
    );
    return isStreaming ? VERDICT.stream : VERDICT.request;
  }

  /** The request whose span a request is below, or `NONE`. */
  private callerOf(span: number): number {
    const parent = this.tree.parent[span] ?? LOST;
    return parent < 0 ? NONE : (this.tree.request[parent] ?? NONE);
  }

  /** A trace begins with it, or a request of an entry whose caller is outside of the application. */
  beginsFlow(span: number): boolean {
    const { arena, entries } = this.target;
    const { parent, slot } = this.tree;
    if (parent[span] === ROOT) return !this.isJobOfEntry(span);
    if (!entries.has(this.serviceOf(span)) || !isServer(arena.kind(slot[span] ?? 0))) return false;
    if (parent[span] === LOST) return !entries.areCallersInside;
    return !this.isCalledFromInside(span);
  }

  /** A message that an entry handles in a trace of its own, where users ask it otherwise. */
  private isJobOfEntry(span: number): boolean {
    const slot = this.tree.slot[span] ?? 0;
    const { arena, entries } = this.target;
    return arena.kind(slot) === SPAN_KIND.consumer && entries.isAskedOtherwise(arena.service(slot));
  }

  /** Whether one of the requests above it is of a service inside of the application. */
  isCalledFromInside(span: number): boolean {
    const { parent, request } = this.tree;
    for (let above = parent[span] ?? LOST; above >= 0;) {
      const service = this.serviceOf(above);
      if (this.target.entries.isInside(service)) return true;
      const caller = request[above] ?? NONE;
      if (caller !== NONE && this.handlesMessage(caller) && this.target.isOurs(service)) return true;
      above = caller === NONE ? LOST : (parent[caller] ?? LOST);
    }
    return false;
  }

  private handlesMessage(request: number): boolean {
    return this.target.arena.kind(this.tree.slot[request] ?? 0) === SPAN_KIND.consumer;
  }

  private serviceOf(span: number): number {
    return this.target.arena.service(this.tree.slot[span] ?? 0);
  }
}

export function flowName(arena: SpanArena, slot: number): string {
  return (arena.names[slot] ?? "").slice(0, MAX_FLOW_NAME) || "(unnamed)";
}
