import { caseRng } from "./draw.ts";
import { expectCleanPrototype, unexpected } from "./oracle.ts";
import { minimise, shown, sizeOf } from "./smaller.ts";
import type { Finding, Target } from "./target.ts";
import { Broken } from "./target.ts";

/** An input that takes longer than this, three times in a row, holds up everything else of its process. */
const STALL_MS = 1_000;
const STALL_TRIES = 3;
/** Memory of the process that no input may need. */
const MAX_RESIDENT_BYTES = 1.5 * 2 ** 30;
/** Smaller inputs that are tried for a slow one, each of which takes seconds. */
const SLOW_TRIES = 20;
const PROTOTYPE_EVERY = 1_024;

/** A stretch of the cases of one target. */
export interface Slice {
  readonly from: number;
  readonly count: number;
  /** On the clock of `performance.now`: no further case is begun after it. */
  readonly endMs?: number;
  /** Called before each case, for whoever watches from outside. */
  readonly onCase?: (number: number) => void;
}

export interface SliceResult {
  readonly ran: number;
  readonly finding?: Finding;
}

/** Runs cases in order until one breaks the target, the slice ends or its time is up. The target is open. */
export async function runSlice(target: Target, seed: number, slice: Slice): Promise<SliceResult> {
  const run = new Run(target, seed, slice);
  const lanes = Math.max(1, target.lanes ?? 1);
  await Promise.all(Array.from({ length: lanes }, async () => run.lane()));
  if (run.broken === undefined) await run.probe();
  if (run.broken === undefined && peakResidentBytes() > MAX_RESIDENT_BYTES) {
    const { from } = slice;
    run.broken = {
      number: from,
      cases: run.ran,
      error: new Broken("memory", `the process grew to ${peakResidentBytes()} bytes`),
    };
  }
  if (run.broken === undefined) return { ran: run.ran };
  return { ran: run.ran, finding: await findingOf(target, seed, run.broken) };
}

interface BrokenCase {
  readonly number: number;
  readonly cases: number;
  readonly error: Broken;
}

class Run {
  broken: BrokenCase | undefined;
  ran = 0;
  private readonly target: Target;
  private readonly seed: number;
  private readonly slice: Slice;
  private next: number;
  private lastProbe: number;
  private probing: Promise<void> | undefined;

  constructor(target: Target, seed: number, slice: Slice) {
    this.target = target;
    this.seed = seed;
    this.slice = slice;
    this.next = slice.from;
    this.lastProbe = slice.from;
  }

  /** Takes one case after the other; several lanes share them. */
  async lane(): Promise<void> {
    const { count, endMs = Infinity, from, onCase } = this.slice;
    const { probeEvery = Infinity } = this.target;
    while (this.broken === undefined && this.next < from + count && performance.now() < endMs) {
      const number = this.next;
      this.next += 1;
      onCase?.(number);
      const error = await this.attempt(number);
      this.ran += 1;
      if (error !== undefined) this.broken ??= { number, cases: 1, error };
      if (this.next - this.lastProbe >= probeEvery) await (this.probing ??= this.probe());
    }
  }

  async probe(): Promise<void> {
    const from = this.lastProbe;
    const cases = this.next - from;
    try {
      await this.target.probe?.();
    } catch (error) {
      this.broken ??= { number: from, cases: Math.max(1, cases), error: unexpected(error) };
    }
    this.lastProbe = this.next;
    this.probing = undefined;
  }

  private async attempt(number: number): Promise<Broken | undefined> {
    const input = this.target.make(caseRng(this.seed, this.target.name, number));
    const error = await breakOf(this.target, input);
    return error ?? (number % PROTOTYPE_EVERY === 0 ? prototypeBreak() : undefined);
  }
}

/** How the input breaks the target; undefined when it does not. */
async function breakOf(target: Target, input: unknown): Promise<Broken | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = performance.now();
    try {
      const running = target.run(input);
      if (running instanceof Promise) await running;
    } catch (error) {
      return unexpected(error);
    }
    const tookMs = performance.now() - startedMs;
    // Another process may have had the CPU; an input that is slow is slow each time.
    if (tookMs <= STALL_MS || target.kind === "port") return undefined;
    if (attempt === STALL_TRIES) return new Broken("stall", `took ${tookMs.toFixed(0)} ms`);
  }
}

function prototypeBreak(): Broken | undefined {
  try {
    expectCleanPrototype();
    return undefined;
  } catch (error) {
    return unexpected(error);
  }
}

async function findingOf(
  target: Target,
  seed: number,
  { cases, error, number }: BrokenCase,
): Promise<Finding> {
  const drawn = target.make(caseRng(seed, target.name, number));
  const alone = cases === 1 && target.kind !== "port";
  const breaks = async (input: unknown): Promise<boolean> =>
    (await breakOf(target, input))?.kind === error.kind;
  const small = alone
    ? await minimise(drawn, breaks, error.kind === "stall" ? SLOW_TRIES : undefined)
    : drawn;
  const final = alone ? ((await breakOf(target, small)) ?? error) : error;
  return {
    target: target.name,
    seed,
    case: number,
    cases,
    kind: error.kind,
    message: final.message,
    input: shown(small),
    inputBytes: sizeOf(small),
    drawnBytes: sizeOf(drawn),
  };
}

function peakResidentBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}
