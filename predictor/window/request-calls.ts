import type { ServiceAccumulator } from "./accumulator.ts";
import { CallSweep } from "./call-sweep.ts";
import type { RequestRoles } from "./request-roles.ts";
import { CALL, NONE, STEPS } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import { DERIVED_KIND } from "./span.ts";
import type { TraceTree } from "./trace-tree.ts";

/** The calls of one request at a time: how long it waited for them, which ran beside each other, and who answered. */
export class RequestCalls {
  private readonly tree: TraceTree;
  private readonly arena: SpanArena;
  private readonly roles: RequestRoles;
  private readonly sweep = new CallSweep();
  /** Spans of the calls, in the order of the sweep. */
  private swept: Int32Array = new Int32Array(64);

  constructor(tree: TraceTree, arena: SpanArena, roles: RequestRoles) {
    this.tree = tree;
    this.arena = arena;
    this.roles = roles;
  }

  /** @returns the time of the request spent waiting for calls, ns */
  sweepCalls(request: number): number {
    const { arena, sweep, tree } = this;
    const startNs = arena.startNs(tree.slot[request] ?? 0);
    const endNs = startNs + arena.durationNs(tree.slot[request] ?? 0);
    sweep.clear();
    for (let call = tree.firstCall[request] ?? NONE; call !== NONE; call = tree.nextCall[call] ?? NONE) {
      const slot = tree.slot[call] ?? 0;
      if (arena.kind(slot) === DERIVED_KIND.library && tree.firstCallee[call] === NONE) continue;
      const durationNs = arena.durationNs(slot);
      const begin = tree.calledBy[call] === call ? this.alignedStart(call) : arena.startNs(slot);
      arena.setCall(slot, begin > endNs ? CALL.unawaited : CALL.alone);
      const index = sweep.push(begin, begin + durationNs);
      if (index === this.swept.length) this.swept = grown(this.swept);
      this.swept[index] = call;
    }
    return sweep.length === 0 ? 0 : sweep.sweep(startNs, endNs);
  }

  /**
   * Start of a call seen only by the callee. A callee cannot start before its caller: where it seems to, the clocks
   * differ, and the call is put in the middle of the caller's span when it fits in there.
   */
  private alignedStart(callee: number): number {
    const { arena } = this;
    const slot = this.tree.slot[callee] ?? 0;
    const parentSlot = this.tree.slot[this.tree.parent[callee] ?? 0] ?? 0;
    const startNs = arena.startNs(slot);
    const parentStartNs = arena.startNs(parentSlot);
    const spareNs = arena.durationNs(parentSlot) - arena.durationNs(slot);
    return startNs < parentStartNs && spareNs >= 0 ? parentStartNs + spareNs / 2 : startNs;
  }

  /** Counts the calls that were swept last. @param sums where calls that nobody answered count */
  countCalls(caller: ServiceAccumulator, sums: ServiceAccumulator, weight: number): void {
    const { arena, sweep, tree } = this;
    for (let index = 0; index < sweep.length; index += 1) {
      const call = this.swept[index] ?? 0;
      const callSlot = tree.slot[call] ?? 0;
      const callNs = arena.durationNs(callSlot);
      if ((tree.firstCallee[call] ?? NONE) === NONE)
        sums.unresolvedCalls += weight * callsOf(arena, callSlot);
      const isParallel = sweep.isParallel(index);
      if (isParallel && arena.call(callSlot) === CALL.alone) arena.setCall(callSlot, CALL.beside);
      const stage = sweep.stageOf(index);
      arena.setStage(callSlot, stage + STEPS * sweep.stepsOf(stage));
      for (let span = tree.firstCallee[call] ?? NONE; span !== NONE; span = tree.nextCallee[span] ?? NONE) {
        const slot = tree.slot[span] ?? 0;
        if (this.roles.isStream(span)) continue;
        const edge = caller.callee(arena.service(slot));
        // Where the two are sampled at different rates, both are seen at the lower one.
        const calls = Math.max(weight, arena.weight(slot));
        edge.calls += calls;
        if (isParallel) edge.parallelCalls += calls;
        if (span === call) continue;
        edge.measured += 1;
        edge.transitNs += Math.max(0, callNs - arena.durationNs(slot));
      }
    }
  }
}

/** Calls that a span stands for. */
function callsOf(arena: SpanArena, slot: number): number {
  return arena.kind(slot) === DERIVED_KIND.folded ? arena.weight(slot) : 1;
}

function grown(column: Int32Array): Int32Array {
  const wider = new Int32Array(2 * column.length);
  wider.set(column);
  return wider;
}
