import type { IntervalAccumulator } from "./accumulator.ts";
import type { NameTable } from "./name-table.ts";
import { NONE } from "./span-arena.ts";

/** Requests whose callers are remembered; older ones fade by half each time it is reached. */
const REMEMBERED = 1_000;

/** The services that users call, and which callers of theirs are inside of the application: those that their own requests lead to. */
export class Entries {
  /** False while spans of an entry are still to come. */
  isComplete = false;
  private readonly entries: () => Iterable<string>;
  private readonly names: NameTable;
  private numbers: readonly number[] = [];
  private readonly reached = new Set<number>();
  /** Entries that answered SERVER spans: what they do for a queue no user waits for. */
  private readonly asked = new Set<number>();
  private fromInside = 0;
  private fromOutside = 0;

  constructor(entries: () => Iterable<string>, names: NameTable) {
    this.entries = entries;
    this.names = names;
  }

  /** Looks up their numbers, which they have once a span of theirs came. */
  refresh(): void {
    const numbers = [...this.entries()].map((name) => this.names.numberOf(name));
    this.numbers = numbers.filter((id) => id !== NONE);
    this.isComplete = this.numbers.length === numbers.length;
  }

  has(service: number): boolean {
    return this.numbers.includes(service);
  }

  isInside(service: number): boolean {
    return this.has(service) || this.reached.has(service);
  }

  noteAsked(service: number): void {
    if (this.has(service)) this.asked.add(service);
  }

  /** Whether a message is no flow of the entry, as users ask it otherwise. */
  isAskedOtherwise(service: number): boolean {
    return this.asked.has(service);
  }

  /** Notes who called an entry. */
  noteCaller(isInside: boolean): void {
    if (isInside) this.fromInside += 1;
    else this.fromOutside += 1;
    if (this.fromInside + this.fromOutside < REMEMBERED) return;
    this.fromInside /= 2;
    this.fromOutside /= 2;
  }

  /** Whether most callers of an entry whose spans arrived are inside: one whose span is lost then is, too. */
  get areCallersInside(): boolean {
    return this.fromInside > this.fromOutside;
  }

  /** Notes the services that requests of the entries led to. */
  learn({ services }: IntervalAccumulator): void {
    for (const entry of this.numbers) {
      for (const flow of services.get(entry)?.flows.values() ?? []) {
        for (const { callee } of flow.calls) this.reached.add(callee);
      }
    }
  }

  /** Forgets a service whose number is given to another one. */
  forget(service: number): void {
    this.reached.delete(service);
    this.asked.delete(service);
    this.numbers = this.numbers.filter((number) => number !== service);
    this.isComplete = false;
  }
}
