import { isCall } from "./request-model.ts";
import type { SpanArena } from "./span-arena.ts";
import type { SpanBatch } from "./span.ts";
import type { OpenTrace } from "./trace-table.ts";

/** Puts a CLIENT span to the others of its parent, in a trace that holds as many as it may. @returns whether there is one that it can be put to */
export function foldCall(
  arena: SpanArena,
  { folded }: OpenTrace,
  batch: SpanBatch,
  index: number,
  startNs: number,
): boolean {
  if (!isCall(batch.kind[index] ?? 0)) return false;
  const calls = folded?.get(parentKey(batch, index));
  if (calls === undefined) return false;
  const endNs = startNs + (batch.durationNs[index] ?? 0);
  arena.fold(calls.slot, startNs, endNs, calls.endNs);
  calls.endNs = Math.max(calls.endNs, endNs);
  return true;
}

/** Beyond `mostSpans` of the trace, later CLIENT spans of the same parent are put to the span that was put in last, if it is one. */
export function noteFoldable(
  trace: OpenTrace,
  batch: SpanBatch,
  index: number,
  endNs: number,
  mostSpans: number,
): void {
  if (trace.spans <= mostSpans || !isCall(batch.kind[index] ?? 0)) return;
  trace.folded ??= new Map();
  trace.folded.set(parentKey(batch, index), { slot: trace.head, endNs });
}

/** A number for the id of the span's parent. */
function parentKey({ parentId }: SpanBatch, index: number): number {
  return (parentId[2 * index] ?? 0) * 2 ** 32 + (parentId[2 * index + 1] ?? 0);
}
