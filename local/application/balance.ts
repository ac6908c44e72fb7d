/** A replica that takes requests, `http://127.0.0.1:PORT`. */
export type Endpoint = string;

/** Chooses a replica for each request on the caller's side: fewest requests under way, in turn among equals. */
export interface Balancer {
  /** Replaces the list; requests under way to a removed endpoint still finish. */
  setEndpoints(endpoints: readonly Endpoint[]): void;
  /** Takes a place at a replica, or says that there is none. Every taken place is given back by `release`. */
  acquire(): Endpoint | undefined;
  release(endpoint: Endpoint): void;
}

export function createBalancer(): Balancer {
  let current: readonly Endpoint[] = [];
  let turn = 0;
  const pending = new Map<Endpoint, number>();
  return {
    setEndpoints(endpoints) {
      current = [...endpoints];
      for (const endpoint of pending.keys()) {
        if (!current.includes(endpoint) && pending.get(endpoint) === 0) pending.delete(endpoint);
      }
    },
    acquire() {
      turn += 1;
      let chosen: Endpoint | undefined;
      let fewest = Number.POSITIVE_INFINITY;
      for (let offset = 0; offset < current.length; offset += 1) {
        const endpoint = current[(turn + offset) % current.length];
        const count = endpoint === undefined ? Number.POSITIVE_INFINITY : (pending.get(endpoint) ?? 0);
        if (count < fewest) {
          chosen = endpoint;
          fewest = count;
        }
      }
      if (chosen !== undefined) pending.set(chosen, fewest + 1);
      return chosen;
    },
    release(endpoint) {
      const left = (pending.get(endpoint) ?? 0) - 1;
      if (left > 0 || current.includes(endpoint)) pending.set(endpoint, Math.max(0, left));
      else pending.delete(endpoint);
    },
  };
}
