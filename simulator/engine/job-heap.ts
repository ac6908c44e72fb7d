/** Jobs of one processor by the amount of work at which they are done, the least first. */
export class JobHeap {
  private size = 0;
  private keys = new Float64Array(8);
  private jobs = new Int32Array(8);

  get length(): number {
    return this.size;
  }

  /** Only asked when there is a job. */
  get least(): number {
    return this.keys[0] ?? 0;
  }

  push(job: number, key: number): void {
    let place = this.size;
    if (place === this.keys.length) this.grow();
    this.size = place + 1;
    const { keys, jobs } = this;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const aboveKey = keys[above] ?? 0;
      if (aboveKey <= key) break;
      keys[place] = aboveKey;
      jobs[place] = jobs[above] ?? 0;
      place = above;
    }
    keys[place] = key;
    jobs[place] = job;
  }

  /** Takes out the job with the least key; only called when there is one. */
  pop(): number {
    const { keys, jobs } = this;
    const top = jobs[0] ?? 0;
    const size = this.size - 1;
    this.size = size;
    if (size === 0) return top;
    const key = keys[size] ?? 0;
    const job = jobs[size] ?? 0;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && (keys[child + 1] ?? 0) < (keys[child] ?? 0)) child += 1;
      if ((keys[child] ?? 0) >= key) break;
      keys[place] = keys[child] ?? 0;
      jobs[place] = jobs[child] ?? 0;
      place = child;
    }
    keys[place] = key;
    jobs[place] = job;
    return top;
  }

  clear(): void {
    this.size = 0;
  }

  private grow(): void {
    const keys = new Float64Array(2 * this.keys.length);
    const jobs = new Int32Array(2 * this.jobs.length);
    keys.set(this.keys);
    jobs.set(this.jobs);
    this.keys = keys;
    this.jobs = jobs;
  }
}
