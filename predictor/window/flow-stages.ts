import { enlarged } from "./span.ts";

/** Kinds of stages of one caller that are told apart; further ones are not counted. */
const MOST_KINDS_OF_CALLER = 64;

/** Different callees of a kind; stages with more are not counted. */
const MOST_CALLEES = 64;

/** More than there are pairs of caller and callee in a flow that one trace can hold. */
const EDGE_NUMBERS = 2 ** 24;

/** Calls of one service to another on behalf of one flow that somebody waited for, weighted by the flow's sampling. */
export class FlowEdge {
  readonly caller: number;
  readonly callee: number;
  /** Number of the pair within the flow. */
  readonly number: number;
  calls = 0;
  parallelCalls = 0;
  /** Stages in which this is the callee of the lowest number. */
  readonly stages = new StageBranch();

  constructor(caller: number, callee: number, number: number) {
    this.caller = caller;
    this.callee = callee;
    this.number = number;
  }
}

/** A set of callees on the way to larger ones: a tree with one branch for each callee, by rising number. */
class StageBranch {
  kind: StageKind | undefined;
  next: Map<number, StageBranch> | undefined;
}

/** Stages of one caller with the same set of callees, summed up, weighted by the flow's sampling. */
export class StageKind {
  readonly edges: readonly FlowEdge[];
  /** Calls to each callee. */
  readonly calls: number[];
  stages = 0;
  steps = 0;

  constructor(edges: readonly FlowEdge[]) {
    this.edges = edges;
    this.calls = edges.map(() => 0);
  }
}

/** A service that calls others on behalf of one flow: its calls, and the stages they are made in. */
export class FlowCaller {
  readonly number: number;
  /** By number of the callee. */
  readonly callees = new Map<number, FlowEdge>();
  readonly kinds: StageKind[] = [];

  constructor(number: number) {
    this.number = number;
  }

  /** Counts a stage of different callees, the first `count` of `edges`. @param calls to each of them */
  count(edges: readonly FlowEdge[], count: number, calls: Float64Array, steps: number, weight: number): void {
    let branch: StageBranch | undefined = edges[0]?.stages;
    for (let index = 1; index < count && branch !== undefined; index += 1) {
      branch = branch.next?.get(edges[index]?.number ?? 0);
    }
    const kind = branch?.kind ?? this.newKind(edges, count);
    if (kind === undefined) return;
    kind.stages += weight;
    kind.steps += weight * steps;
    for (let index = 0; index < count; index += 1) {
      kind.calls[index] = (kind.calls[index] ?? 0) + weight * (calls[index] ?? 0);
    }
  }

  /** Counts a stage of one call, as most are. */
  countAlone(edge: FlowEdge, weight: number): void {
    const kind = edge.stages.kind ?? this.newKind([edge], 1);
    if (kind === undefined) return;
    kind.stages += weight;
    kind.steps += weight;
    kind.calls[0] = (kind.calls[0] ?? 0) + weight;
  }

  /** @returns undefined where it would be one kind too many */
  private newKind(edges: readonly FlowEdge[], count: number): StageKind | undefined {
    const [first] = edges;
    if (first === undefined || this.kinds.length >= MOST_KINDS_OF_CALLER || count > MOST_CALLEES)
      return undefined;
    const kind = new StageKind(edges.slice(0, count));
    let branch = first.stages;
    for (let index = 1; index < count; index += 1) {
      const number = edges[index]?.number ?? 0;
      branch.next ??= new Map();
      const next = branch.next.get(number) ?? new StageBranch();
      branch.next.set(number, next);
      branch = next;
    }
    branch.kind = kind;
    this.kinds.push(kind);
    return kind;
  }
}

/** The calls of one request on their way into the stages of their caller. One instance is reused for request after request. */
export class StagedCalls {
  private length = 0;
  private apart = 0;
  /** Stage and pair of each call as one number, so that sorting brings stages together. */
  private keys = new Float64Array(64);
  private edges: FlowEdge[] = [];
  /** By number of the stage. */
  private steps = new Uint16Array(64);
  /** Of the stage that is counted. */
  private readonly callees: FlowEdge[] = [];
  private readonly calls = new Float64Array(MOST_CALLEES + 1);

  /** @param steps of the stage; stages are numbered from 0 */
  add(edge: FlowEdge, stage: number, steps: number): void {
    this.push(2 * stage, edge);
    if (stage >= this.steps.length) this.steps = enlarged(this.steps, new Uint16Array(2 * stage));
    this.steps[stage] = steps;
  }

  /** A call that is a stage by itself: one more behind the same CLIENT span, as of a client that tried again. */
  addApart(edge: FlowEdge): void {
    this.push(2 * this.apart + 1, edge);
    this.apart += 1;
  }

  /** Counts the stages of the request, and begins the next request. */
  flush(caller: FlowCaller, weight: number): void {
    const { edges, keys, length } = this;
    if (length === 0) return;
    const only = edges[0];
    this.length = 0;
    this.apart = 0;
    if (length === 1 && only !== undefined) {
      caller.countAlone(only, weight);
      return;
    }
    this.sort(length);
    for (let from = 0; from < length;) {
      const stage = Math.floor((keys[from] ?? 0) / EDGE_NUMBERS);
      const behind = (stage + 1) * EDGE_NUMBERS;
      let to = from + 1;
      while (to < length && (keys[to] ?? 0) < behind) to += 1;
      const steps = stage % 2 === 0 ? (this.steps[stage / 2] ?? 1) : 1;
      caller.count(this.callees, this.gather(from, to), this.calls, steps, weight);
      from = to;
    }
  }

  /** Finds the different callees of a stage and how often each was called; one more than the limit stands for more. */
  private gather(from: number, to: number): number {
    let count = 0;
    for (let at = from; at < to; at += 1) {
      const edge = this.edges[at];
      if (edge === undefined) continue;
      if (count > 0 && this.callees[count - 1] === edge) {
        this.calls[count - 1] = (this.calls[count - 1] ?? 0) + 1;
      } else if (count <= MOST_CALLEES) {
        this.callees[count] = edge;
        this.calls[count] = 1;
        count += 1;
      }
    }
    return count;
  }

  private push(stage: number, edge: FlowEdge): void {
    if (this.length === this.keys.length) {
      this.keys = enlarged(this.keys, new Float64Array(2 * this.length));
    }
    this.keys[this.length] = stage * EDGE_NUMBERS + edge.number;
    this.edges[this.length] = edge;
    this.length += 1;
  }

  /** Most requests make few calls, so each is inserted at its place; a long list is sorted as a whole. */
  private sort(length: number): void {
    const { edges, keys } = this;
    if (length > FEW) {
      this.sortMany(length);
      return;
    }
    for (let index = 1; index < length; index += 1) {
      const key = keys[index] ?? 0;
      const edge = edges[index];
      if (edge === undefined) continue;
      let at = index;
      for (; at > 0 && (keys[at - 1] ?? 0) > key; at -= 1) {
        keys[at] = keys[at - 1] ?? 0;
        edges[at] = edges[at - 1] ?? edge;
      }
      keys[at] = key;
      edges[at] = edge;
    }
  }

  private sortMany(length: number): void {
    const byNumber = new Map<number, FlowEdge>();
    for (let index = 0; index < length; index += 1) {
      const edge = this.edges[index];
      if (edge !== undefined) byNumber.set(edge.number, edge);
    }
    this.keys.subarray(0, length).sort();
    this.edges = Array.from(this.keys.subarray(0, length), (key) => byNumber.get(key % EDGE_NUMBERS)).filter(
      (edge) => edge !== undefined,
    );
  }
}

const FEW = 24;
