/** Requests by the mark of work, or the time, at which they are done. */
export class MarkHeap {
  length = 0;
  private keys = new Float64Array(64);
  private jobs = new Int32Array(64);

  /** Only asked when there is one. */
  get least(): number {
    return this.keys[0] as number;
  }

  push(job: number, key: number): void {
    if (this.length === this.keys.length) this.grow();
    const { jobs, keys } = this;
    let place = this.length;
    this.length += 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if ((keys[above] as number) <= key) break;
      keys[place] = keys[above] as number;
      jobs[place] = jobs[above] as number;
      place = above;
    }
    keys[place] = key;
    jobs[place] = job;
  }

  pop(): number {
    const { jobs, keys } = this;
    const top = jobs[0] as number;
    this.length -= 1;
    const size = this.length;
    const key = keys[size] as number;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && (keys[child + 1] as number) < (keys[child] as number)) child += 1;
      if ((keys[child] as number) >= key) break;
      keys[place] = keys[child] as number;
      jobs[place] = jobs[child] as number;
      place = child;
    }
    keys[place] = key;
    jobs[place] = jobs[size] as number;
    return top;
  }

  private grow(): void {
    const [keys, jobs] = [new Float64Array(2 * this.keys.length), new Int32Array(2 * this.jobs.length)];
    keys.set(this.keys);
    jobs.set(this.jobs);
    [this.keys, this.jobs] = [keys, jobs];
  }
}
