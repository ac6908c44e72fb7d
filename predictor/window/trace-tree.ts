import { NONE } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import {
  PODS,
  SPAN_CLASS,
  classBelow,
  classOfOwnServer,
  classOfTop,
  comparedPods,
  isCall,
  isHandling,
  isServer,
  isWork,
  mayBeOfProcess,
} from "./request-model.ts";
import { DERIVED_KIND } from "./span.ts";
import type { SpanClass } from "./request-model.ts";

/** The span has no parent: it began the trace. */
export const ROOT = -1;
/** The span has a parent that did not arrive. */
export const LOST = -2;

/** Spans that are compared with each other for those that lost their parents; larger traces are left as they are. */
const MOST_ADOPTION_STEPS = 100_000;
const UNSEEN = 0;
const ON_PATH = 1;
const PLACED = 2;

/**
 * The spans of one trace as a tree of requests. A request is one span by which a service was entered, with all spans
 * of that service below it folded in; an outgoing call is its outermost CLIENT span, or, where the caller made no
 * CLIENT span, the callee's own entry span. Spans are numbered 0 to `length` − 1; the columns below are indexed by
 * that number. One instance is reused for trace after trace.
 */
export class TraceTree {
  length = 0;
  /** Spans left out because another one of their service has their id, or because their parents run in a circle. */
  duplicates = 0;
  cyclic = 0;
  /** Requests beside another one of their pod that answers the same call. */
  readonly doubles: number[] = [];
  /** Slot in the arena. */
  slot = new Int32Array(64);
  /** Number of the parent span, `ROOT` or `LOST`. */
  parent = new Int32Array(64);
  /** Number of the entry span of the request this span belongs to (itself for an entry span), or `NONE`. */
  request = new Int32Array(64);
  /** Number of the outermost CLIENT span above or at this span within its request, or `NONE`. */
  call = new Int32Array(64);
  /** For an entry span that was called: the span whose interval the caller waited, CLIENT or itself; else `NONE`. */
  calledBy = new Int32Array(64);
  /** 1 for spans left out. */
  dead = new Uint8Array(64);
  /** Entry spans below a call: first one of each call, and the next one of the same call. */
  firstCallee = new Int32Array(64);
  nextCallee = new Int32Array(64);
  /** Calls of a request: first one of each request, and the next one of the same request. */
  firstCall = new Int32Array(64);
  nextCall = new Int32Array(64);
  /** Spans that are not left out, parents first. */
  order = new Int32Array(64);
  placed = 0;

  /** Of a CLIENT span that shares its id with the SERVER span it led to: that one, or `NONE`. Only set where `shared` is not 0. */
  private twin = new Int32Array(64);
  /** Pairs of spans that share an id. */
  private shared = 0;
  /** Spans of a request of which the spans between are lost. */
  private orphans = 0;
  private state = new Uint8Array(64);
  private isWait = new Uint8Array(64);
  private path = new Int32Array(64);
  /** The span above all others that each one is below. Only set where there are `orphans`. */
  private top = new Int32Array(64);
  private table = new Int32Array(256);
  private readonly seed: number;
  private readonly isOurs: (service: number) => boolean;

  /** @param isOurs whether a workload of the application has the service */
  constructor(seed: number, isOurs: (service: number) => boolean) {
    this.seed = seed;
    this.isOurs = isOurs;
  }

  /** Lays out the spans of the list that starts at `head`. */
  load(arena: SpanArena, head: number, count: number, nameOf: (service: number) => string): void {
    this.reserve(count);
    this.length = count;
    this.duplicates = 0;
    this.cyclic = 0;
    this.placed = 0;
    this.shared = 0;
    this.orphans = 0;
    this.doubles.length = 0;
    this.enter(arena, head, nameOf);
    this.findParents(arena);
    for (let span = 0; span < count; span += 1) {
      if (this.state[span] === UNSEEN) this.place(arena, span);
    }
    if (this.orphans > 0) this.adopt(arena);
    for (let span = 0; span < count; span += 1) {
      if (this.dead[span] === 0) this.linkCall(arena, span);
    }
  }

  isEntry(span: number): boolean {
    return this.request[span] === span;
  }

  private enter(arena: SpanArena, head: number, nameOf: (service: number) => string): void {
    const { table } = this;
    const mask = this.tableMask();
    table.fill(NONE, 0, mask + 1);
    let slot = head;
    for (let span = 0; span < this.length; span += 1) {
      this.slot[span] = slot;
      this.dead[span] = 0;
      this.state[span] = UNSEEN;
      this.firstCallee[span] = NONE;
      this.nextCallee[span] = NONE;
      this.firstCall[span] = NONE;
      this.nextCall[span] = NONE;
      this.request[span] = NONE;
      this.call[span] = NONE;
      this.calledBy[span] = NONE;
      const at = this.probe(arena, arena.spanHigh(slot), arena.spanLow(slot));
      const holder = table[at] ?? NONE;
      if (holder === NONE) table[at] = span;
      else this.settleDuplicate(arena, at, span, nameOf);
      slot = arena.next(slot);
    }
  }

  /**
   * Zipkin gives both sides of a call one id: two such spans become two. Of two of the same side one is kept, the same one whichever
   * came first.
   */
  private settleDuplicate(
    arena: SpanArena,
    at: number,
    span: number,
    nameOf: (service: number) => string,
  ): void {
    const holder = this.table[at] ?? NONE;
    const twin = this.shared === 0 ? NONE : (this.twin[holder] ?? NONE);
    const precedesSpan = (other: number): boolean =>
      precedes(arena, this.slot[other] ?? 0, this.slot[span] ?? 0, nameOf);
    if (this.isOtherSide(arena, holder, span) && twin === NONE) {
      if (this.shared === 0) this.twin.fill(NONE, 0, this.length);
      this.shared += 1;
      const isOuter = this.isOuter(arena, span, holder, nameOf);
      if (isOuter) this.table[at] = span;
      this.twin[isOuter ? span : holder] = isOuter ? holder : span;
    } else if (!this.isOtherSide(arena, holder, span)) {
      const loser = precedesSpan(holder) ? span : holder;
      if (loser === holder) {
        this.table[at] = span;
        if (twin !== NONE) this.twin[span] = twin;
        if (twin !== NONE) this.twin[holder] = NONE;
      }
      this.leaveOut(loser);
    } else {
      const loser = this.isOtherSide(arena, twin, span) || precedesSpan(twin) ? span : twin;
      if (loser === twin) this.twin[holder] = span;
      this.leaveOut(loser);
    }
  }

  private leaveOut(span: number): void {
    this.dead[span] = 1;
    this.state[span] = PLACED;
    this.duplicates += 1;
  }

  /** Whether two spans with one id are both sides of a call: of different services, or one CLIENT and one SERVER. */
  private isOtherSide(arena: SpanArena, a: number, b: number): boolean {
    const [slotA, slotB] = [this.slot[a] ?? 0, this.slot[b] ?? 0];
    if (arena.service(slotA) !== arena.service(slotB)) return true;
    const [kindA, kindB] = [arena.kind(slotA), arena.kind(slotB)];
    return (isCall(kindA) && isServer(kindB)) || (isServer(kindA) && isCall(kindB));
  }

  /** Whether `a` is the caller's side of a call whose sides are these two. */
  private isOuter(arena: SpanArena, a: number, b: number, nameOf: (service: number) => string): boolean {
    const [slotA, slotB] = [this.slot[a] ?? 0, this.slot[b] ?? 0];
    const [kindA, kindB] = [arena.kind(slotA), arena.kind(slotB)];
    if (isCall(kindA) !== isCall(kindB)) return isCall(kindA);
    if (isServer(kindA) !== isServer(kindB)) return isServer(kindB);
    return precedes(arena, slotA, slotB, nameOf);
  }

  private findParents(arena: SpanArena): void {
    for (let span = 0; span < this.length; span += 1) {
      const slot = this.slot[span] ?? 0;
      const high = arena.parentHigh(slot);
      const low = arena.parentLow(slot);
      if (high === 0 && low === 0) {
        this.parent[span] = ROOT;
        continue;
      }
      const found = this.table[this.probe(arena, high, low)] ?? NONE;
      this.parent[span] = found === NONE ? LOST : this.shared === 0 ? found : this.sideOf(arena, found, span);
    }
    if (this.shared === 0) return;
    for (let span = 0; span < this.length; span += 1) {
      const twin = this.dead[span] === 1 ? NONE : (this.twin[span] ?? NONE);
      if (twin !== NONE) this.parent[twin] = span;
    }
  }

  /** Which of two spans that share the id of a parent is it: the caller's side only of the caller's own spans. */
  private sideOf(arena: SpanArena, outer: number, child: number): number {
    const inner = this.twin[outer] ?? NONE;
    if (inner === NONE) return outer;
    const service = arena.service(this.slot[child] ?? 0);
    const isOfOuter = service === arena.service(this.slot[outer] ?? 0);
    return isOfOuter && service !== arena.service(this.slot[inner] ?? 0) ? outer : inner;
  }

  /** Places a span after its ancestors; ancestors that lead back to themselves are left out. */
  private place(arena: SpanArena, from: number): void {
    let depth = 0;
    let span = from;
    while (span >= 0 && this.state[span] === UNSEEN) {
      this.state[span] = ON_PATH;
      this.path[depth] = span;
      depth += 1;
      span = this.parent[span] ?? LOST;
    }
    const closesCircle = span >= 0 && this.state[span] === ON_PATH;
    let inCircle = closesCircle;
    while (depth > 0) {
      depth -= 1;
      const current = this.path[depth] ?? 0;
      this.state[current] = PLACED;
      if (inCircle) {
        this.dead[current] = 1;
        this.cyclic += 1;
        if (current === span) inCircle = false;
      } else {
        this.classify(arena, current);
      }
    }
  }

  private classify(arena: SpanArena, span: number): void {
    this.order[this.placed] = span;
    this.placed += 1;
    let parent = this.parent[span] ?? LOST;
    if (parent >= 0 && this.dead[parent] === 1) parent = LOST;
    // Below a wait begins what was waited for.
    if (parent >= 0 && this.isWait[parent] === 1) parent = ROOT;
    this.parent[span] = parent;
    const kind = arena.kind(this.slot[span] ?? 0);
    const found = parent < 0 ? classOfTop(kind, parent === LOST) : this.classUnder(arena, span, parent, kind);
    this.isWait[span] = found === SPAN_CLASS.wait ? 1 : 0;
    if (parent === LOST && (found === SPAN_CLASS.call || found === SPAN_CLASS.inner)) this.orphans += 1;
    this.assign(span, found, parent);
  }

  /** Gives spans whose parent did not arrive to the request of their service within which they lie, and what is below them. */
  private adopt(arena: SpanArena): void {
    if (this.orphans * this.length > MOST_ADOPTION_STEPS) return;
    for (let rank = 0; rank < this.placed; rank += 1) {
      const span = this.order[rank] ?? 0;
      const parent = this.parent[span] ?? LOST;
      this.top[span] = parent < 0 ? span : (this.top[parent] ?? span);
    }
    for (let rank = 0; rank < this.placed; rank += 1) {
      const span = this.order[rank] ?? 0;
      if (this.request[span] !== NONE || this.isWait[span] === 1) continue;
      const parent = this.parent[span] ?? LOST;
      this.request[span] = parent >= 0 ? (this.request[parent] ?? NONE) : this.enclosing(arena, span);
    }
  }

  /** The shortest request of the span's service that lasts from before it until after it and is not below it, or `NONE`. */
  private enclosing(arena: SpanArena, span: number): number {
    const slot = this.slot[span] ?? 0;
    const service = arena.service(slot);
    const startNs = arena.startNs(slot);
    const endNs = startNs + arena.durationNs(slot);
    let shortest = NONE;
    let shortestNs = Infinity;
    for (let other = 0; other < this.length; other += 1) {
      const otherSlot = this.slot[other] ?? 0;
      const otherNs = arena.durationNs(otherSlot);
      if (this.request[other] !== other || arena.service(otherSlot) !== service || otherNs >= shortestNs)
        continue;
      if (arena.startNs(otherSlot) > startNs || arena.startNs(otherSlot) + otherNs < endNs) continue;
      if (comparedPods(arena.pod(slot), arena.pod(otherSlot)) === PODS.different) continue;
      if (this.isBelow(other, span)) continue;
      shortest = other;
      shortestNs = otherNs;
    }
    return shortest;
  }

  /** Whether a request is below a span without a parent: in the same tree, or in one whose top was given to such a request. */
  private isBelow(entry: number, orphan: number): boolean {
    let request = entry;
    while (request !== NONE) {
      const top = this.top[request] ?? NONE;
      if (top === orphan) return true;
      const adopter = this.request[top] ?? NONE;
      request = adopter === top ? NONE : adopter;
    }
    return false;
  }

  private classUnder(arena: SpanArena, span: number, parent: number, kind: number): SpanClass {
    const slot = this.slot[span] ?? 0;
    const parentSlot = this.slot[parent] ?? 0;
    const isSameService = arena.service(slot) === arena.service(parentSlot);
    if (!isSameService || !isServer(kind)) {
      const parentKind = arena.kind(parentSlot);
      if (!isSameService && this.isOfProcess(arena, slot, parentSlot)) {
        arena.setKind(slot, DERIVED_KIND.library);
        return classBelow(DERIVED_KIND.library, parentKind, true);
      }
      if (isSameService && isHandling(kind, parentKind)) {
        const receivedNs = arena.startNs(parentSlot) + arena.durationNs(parentSlot);
        if (arena.startNs(slot) >= receivedNs) return SPAN_CLASS.unawaited;
      }
      return classBelow(kind, parentKind, isSameService);
    }
    const request = this.request[parent] ?? NONE;
    const requestSlot = this.slot[request === NONE ? parent : request] ?? 0;
    const endNs = arena.startNs(requestSlot) + arena.durationNs(requestSlot);
    return classOfOwnServer({
      isBelowCall: (this.call[parent] ?? NONE) !== NONE,
      pods: comparedPods(arena.pod(slot), arena.pod(parentSlot)),
      isWork: request !== NONE && this.parent[request] === ROOT && isWork(arena.kind(requestSlot)),
      isOver: arena.startNs(slot) > endNs,
    });
  }

  /** Whether a span without a workload was made by the process of the one above it: whom one calls answers with a SERVER span. */
  private isOfProcess(arena: SpanArena, slot: number, parentSlot: number): boolean {
    const parentKind = arena.kind(parentSlot);
    if (!mayBeOfProcess(arena.kind(slot), parentKind) || this.isOurs(arena.service(slot))) return false;
    return parentKind === DERIVED_KIND.library || this.isOurs(arena.service(parentSlot));
  }

  private assign(span: number, found: SpanClass, parent: number): void {
    const parentCall = parent < 0 ? NONE : (this.call[parent] ?? NONE);
    switch (found) {
      case SPAN_CLASS.wait:
        break;
      case SPAN_CLASS.request:
        this.request[span] = span;
        if (parent >= 0) this.calledBy[span] = parentCall === NONE ? span : parentCall;
        break;
      case SPAN_CLASS.anew:
        this.parent[span] = ROOT;
        this.request[span] = span;
        break;
      case SPAN_CLASS.unawaited:
        this.request[span] = span;
        break;
      case SPAN_CLASS.transit:
        this.request[span] = this.request[parent] ?? NONE;
        if (this.call[parentCall] === parentCall) this.call[parentCall] = NONE;
        break;
      case SPAN_CLASS.call:
      case SPAN_CLASS.inner:
        if (parent >= 0) this.request[span] = this.request[parent] ?? NONE;
        this.call[span] = parentCall === NONE && found === SPAN_CLASS.call ? span : parentCall;
        break;
    }
  }

  private linkCall(arena: SpanArena, span: number): void {
    const call = this.calledBy[span] ?? NONE;
    if (call !== NONE) {
      const other = this.firstCallee[call] ?? NONE;
      if (other !== NONE && this.isDouble(arena, span, other)) this.doubles.push(span);
      this.nextCallee[span] = other;
      this.firstCallee[call] = span;
    }
    const caller = call === span ? (this.parent[span] ?? NONE) : this.call[span] === span ? span : NONE;
    const request = caller < 0 ? NONE : (this.request[caller] ?? NONE);
    if (request === NONE) return;
    this.nextCall[span] = this.firstCall[request] ?? NONE;
    this.firstCall[request] = span;
  }

  /** Whether one pod answers one call twice at once: two of its spans tell of the same request. */
  private isDouble(arena: SpanArena, a: number, b: number): boolean {
    const [slotA, slotB] = [this.slot[a] ?? 0, this.slot[b] ?? 0];
    if (arena.service(slotA) !== arena.service(slotB)) return false;
    if (comparedPods(arena.pod(slotA), arena.pod(slotB)) !== PODS.same) return false;
    const [startA, startB] = [arena.startNs(slotA), arena.startNs(slotB)];
    return startA < startB + arena.durationNs(slotB) && startB < startA + arena.durationNs(slotA);
  }

  /** Where in the table the id is, or the empty place where it belongs. */
  private probe(arena: SpanArena, high: number, low: number): number {
    const mask = this.tableMask();
    let hash = Math.imul(high ^ this.seed, 0x85ebca6b) ^ low;
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    let at = (hash ^ (hash >>> 16)) & mask;
    for (;;) {
      const span = this.table[at] ?? NONE;
      if (span === NONE) return at;
      const slot = this.slot[span] ?? 0;
      if (arena.spanHigh(slot) === high && arena.spanLow(slot) === low) return at;
      at = (at + 1) & mask;
    }
  }

  /** The table has a power of two places, at least twice as many as there are spans. */
  private tableMask(): number {
    return (1 << (33 - Math.clz32(this.length))) - 1;
  }

  private reserve(count: number): void {
    if (count <= this.slot.length) return;
    const capacity = 1 << (32 - Math.clz32(count));
    this.slot = new Int32Array(capacity);
    this.parent = new Int32Array(capacity);
    this.request = new Int32Array(capacity);
    this.call = new Int32Array(capacity);
    this.calledBy = new Int32Array(capacity);
    this.dead = new Uint8Array(capacity);
    this.firstCallee = new Int32Array(capacity);
    this.nextCallee = new Int32Array(capacity);
    this.firstCall = new Int32Array(capacity);
    this.nextCall = new Int32Array(capacity);
    this.state = new Uint8Array(capacity);
    this.isWait = new Uint8Array(capacity);
    this.order = new Int32Array(capacity);
    this.twin = new Int32Array(capacity);
    this.path = new Int32Array(capacity);
    this.top = new Int32Array(capacity);
    this.table = new Int32Array(4 * capacity);
  }
}

/** A total order of spans with the same id that does not depend on which came first. */
function precedes(arena: SpanArena, a: number, b: number, nameOf: (service: number) => string): boolean {
  const difference =
    arena.counted(a) - arena.counted(b) ||
    arena.durationNs(a) - arena.durationNs(b) ||
    arena.startNs(a) - arena.startNs(b) ||
    arena.kind(a) - arena.kind(b) ||
    arena.error(a) - arena.error(b) ||
    arena.parentHigh(a) - arena.parentHigh(b) ||
    arena.parentLow(a) - arena.parentLow(b) ||
    arena.weight(a) - arena.weight(b);
  if (difference !== 0) return difference > 0;
  const names = [nameOf(arena.service(a)), nameOf(arena.service(b))] as const;
  if (names[0] !== names[1]) return names[0] > names[1];
  return (arena.names[a] ?? "") > (arena.names[b] ?? "");
}
