/** Entries remembered per service; older ones fade by half each time it is reached. */
const REMEMBERED = 1_000;

/**
 * Which services are entered by callers that send their spans too. It tells a trace whose first span is still to come
 * (a request that is running) from one whose first span never will (the caller sends none).
 */
export class HeadHistory {
  private readonly withCaller = new Map<number, number>();
  private readonly alone = new Map<number, number>();

  /** Notes one request with a parent, and whether the parent's span arrived. */
  note(service: number, callerArrived: boolean): void {
    const counts = callerArrived ? this.withCaller : this.alone;
    const count = (counts.get(service) ?? 0) + 1;
    counts.set(service, count);
    if (count < REMEMBERED) return;
    this.withCaller.set(service, (this.withCaller.get(service) ?? 0) / 2);
    this.alone.set(service, (this.alone.get(service) ?? 0) / 2);
  }

  /** Forgets a service whose number is given to another one. */
  forget(service: number): void {
    this.withCaller.delete(service);
    this.alone.delete(service);
  }

  /** Whether the callers of the service usually send their spans. False when nothing is known of it. */
  expectsCaller(service: number): boolean {
    return (this.withCaller.get(service) ?? 0) > (this.alone.get(service) ?? 0);
  }
}
