/** A container as its machine sees it. */
interface Sharer {
  /** Threads that want to run, at most its quota; and how many of them the machine has counted. */
  readonly wantedCores: number;
  countedCores: number;
  /** CPU it is granted while the machine is contended, by its weight. */
  grantedCores: number;
  readonly weight: number;
  speed: number;
  /** Index among those that want to run. */
  place: number;
  advance(nowMs: number): void;
  schedule(nowMs: number): void;
}

/**
 * The CPUs of one node. While fewer threads want to run than there are CPUs, each has one to itself; else containers share
 * them as CFS does: by weight (their CPU request), and what one does not need goes to the others.
 */
export class Machine {
  readonly cores: number;
  /** Containers that want to run. */
  readonly active: Sharer[] = [];
  private wanted = 0;
  private contended = false;

  constructor(cores: number) {
    this.cores = cores;
  }

  /** CPUs in use now; at most `cores`. */
  get busyCores(): number {
    return Math.min(this.cores, this.wanted);
  }

  /** Called after the number of threads that want to run changed; sets speeds and, of other containers, their next events. */
  changed(processor: Sharer, nowMs: number): void {
    const wants = processor.wantedCores;
    const before = processor.countedCores;
    if (wants === before) return;
    this.wanted += wants - before;
    processor.countedCores = wants;
    if (before === 0) this.join(processor);
    else if (wants === 0) this.leave(processor);
    const isContended = this.wanted > this.cores;
    if (!isContended && !this.contended) {
      processor.speed = wants > 0 ? 1 : 0;
      return;
    }
    this.contended = isContended;
    if (wants === 0) processor.speed = 0;
    this.share(processor, nowMs);
  }

  /** Called after the weight of a container changed. */
  reweighed(processor: Sharer, nowMs: number): void {
    if (this.contended) this.share(processor, nowMs);
  }

  private join(processor: Sharer): void {
    processor.place = this.active.length;
    this.active.push(processor);
  }

  private leave(processor: Sharer): void {
    const last = this.active.pop();
    if (last === undefined || last === processor) return;
    this.active[processor.place] = last;
    last.place = processor.place;
  }

  private share(caller: Sharer, nowMs: number): void {
    for (const each of this.active) if (each !== caller) each.advance(nowMs);
    this.fill();
    for (const each of this.active) {
      each.speed = each.grantedCores / each.countedCores;
      if (each !== caller) each.schedule(nowMs);
    }
  }

  /** Water-filling: who wants less than its share gets that, the others share the rest. */
  private fill(): void {
    let left = this.cores;
    let weights = 0;
    for (const each of this.active) {
      each.grantedCores = -1;
      weights += each.weight;
    }
    for (let settled = false; !settled;) {
      settled = true;
      const perWeight = left / weights;
      for (const each of this.active) {
        if (each.grantedCores >= 0 || each.countedCores > each.weight * perWeight) continue;
        each.grantedCores = each.countedCores;
        left -= each.countedCores;
        weights -= each.weight;
        settled = false;
      }
    }
    for (const each of this.active) {
      if (each.grantedCores < 0) each.grantedCores = (left * each.weight) / weights;
    }
  }
}
