import { enlarged } from "./span.ts";

/** More than there are numbers of services. */
const SERVICE_NUMBERS = 2 ** 20;

/** Kinds of stages of one caller that are told apart; further ones are not listed. */
const MOST_KINDS_OF_CALLER = 64;

/** Different callees of a kind; stages with more are not listed. */
const MOST_CALLEES = 64;

/** Stages of one caller with the same set of callees, summed up, weighted by the flow's sampling. */
export class StageKind {
  readonly caller: number;
  /** Numbers of services, rising. */
  readonly callees: readonly number[];
  /** Calls to each of them. */
  readonly calls: Float64Array;
  stages = 0;
  steps = 0;

  constructor(caller: number, callees: readonly number[]) {
    this.caller = caller;
    this.callees = callees;
    this.calls = new Float64Array(callees.length);
  }
}

/** The kinds of stages of one flow, found by caller and set of callees in a tree: one branch for each callee, in order. */
export class FlowStages {
  readonly kinds: StageKind[] = [];
  private readonly branches = new Map<number, number>();
  /** By number of a place in the tree. */
  private readonly kindAt: (StageKind | undefined)[] = [undefined];
  private readonly kindsOfCaller = new Map<number, number>();

  /** @returns undefined where it would be one kind too many */
  kind(caller: number, callees: Float64Array, count: number): StageKind | undefined {
    let place = this.branches.get(caller) ?? 0;
    for (let index = 0; index < count && place !== 0; index += 1) {
      place = this.branches.get(place * SERVICE_NUMBERS + (callees[index] ?? 0)) ?? 0;
    }
    return (place === 0 ? undefined : this.kindAt[place]) ?? this.newKind(caller, callees, count);
  }

  private newKind(caller: number, callees: Float64Array, count: number): StageKind | undefined {
    const known = this.kindsOfCaller.get(caller) ?? 0;
    if (known >= MOST_KINDS_OF_CALLER || count > MOST_CALLEES) return undefined;
    this.kindsOfCaller.set(caller, known + 1);
    const kind = new StageKind(caller, [...callees.subarray(0, count)]);
    let place = this.branch(caller);
    for (const callee of kind.callees) place = this.branch(place * SERVICE_NUMBERS + callee);
    this.kindAt[place] = kind;
    this.kinds.push(kind);
    return kind;
  }

  private branch(key: number): number {
    let place = this.branches.get(key);
    if (place === undefined) {
      place = this.kindAt.push(undefined) - 1;
      this.branches.set(key, place);
    }
    return place;
  }
}

/** The calls of one request on their way into the stages of a flow. One instance is reused for request after request. */
export class StagedCalls {
  private length = 0;
  private apart = 0;
  /** Stage and callee of each call as one number, so that sorting brings stages together. */
  private keys = new Float64Array(64);
  /** By number of the stage. */
  private steps = new Uint16Array(64);
  private readonly callees = new Float64Array(MOST_CALLEES + 1);
  private readonly calls = new Float64Array(MOST_CALLEES + 1);

  /** @param steps of the stage; stages are numbered from 0 */
  add(callee: number, stage: number, steps: number): void {
    this.push(2 * stage, callee);
    if (stage >= this.steps.length) this.steps = enlarged(this.steps, new Uint16Array(2 * stage));
    this.steps[stage] = steps;
  }

  /** A call that is a stage by itself: one more behind the same CLIENT span, as of a client that tried again. */
  addApart(callee: number): void {
    this.push(2 * this.apart + 1, callee);
    this.apart += 1;
  }

  /** Counts the stages of the request, and begins the next request. */
  flush(stages: FlowStages, caller: number, weight: number): void {
    const { keys, length } = this;
    if (length > 1) sort(keys, length);
    this.length = 0;
    this.apart = 0;
    for (let from = 0; from < length;) {
      const stage = Math.floor((keys[from] ?? 0) / SERVICE_NUMBERS);
      let to = from + 1;
      while (to < length && Math.floor((keys[to] ?? 0) / SERVICE_NUMBERS) === stage) to += 1;
      const steps = stage % 2 === 0 ? (this.steps[stage / 2] ?? 1) : 1;
      const callees = this.gather(from, to);
      const kind = stages.kind(caller, this.callees, callees);
      if (kind !== undefined) {
        kind.stages += weight;
        kind.steps += weight * steps;
        for (let index = 0; index < callees; index += 1) {
          kind.calls[index] = (kind.calls[index] ?? 0) + weight * (this.calls[index] ?? 0);
        }
      }
      from = to;
    }
  }

  /** Finds the different callees of a stage and how often each was called; one more than the limit stands for more. */
  private gather(from: number, to: number): number {
    let count = 0;
    for (let at = from; at < to; at += 1) {
      const callee = (this.keys[at] ?? 0) % SERVICE_NUMBERS;
      if (count > 0 && this.callees[count - 1] === callee) {
        this.calls[count - 1] = (this.calls[count - 1] ?? 0) + 1;
      } else if (count <= MOST_CALLEES) {
        this.callees[count] = callee;
        this.calls[count] = 1;
        count += 1;
      }
    }
    return count;
  }

  private push(stage: number, callee: number): void {
    if (this.length === this.keys.length) {
      this.keys = enlarged(this.keys, new Float64Array(2 * this.length));
    }
    this.keys[this.length] = stage * SERVICE_NUMBERS + callee;
    this.length += 1;
  }
}

/** Most requests make few calls: then inserting each at its place is the fastest. */
const FEW = 24;

function sort(keys: Float64Array, length: number): void {
  if (length > FEW) {
    keys.subarray(0, length).sort();
    return;
  }
  for (let index = 1; index < length; index += 1) {
    const key = keys[index] ?? 0;
    let at = index;
    for (; at > 0 && (keys[at - 1] ?? 0) > key; at -= 1) keys[at] = keys[at - 1] ?? 0;
    keys[at] = key;
  }
}
