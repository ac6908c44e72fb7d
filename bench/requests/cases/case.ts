import type { Setting } from "../stage.ts";
import type { Made, More, Trace, World } from "../traffic.ts";

/** One way in which telemetry comes, with what is true of it. */
export interface RequestCase {
  readonly name: string;
  readonly setting?: Partial<Setting>;
  /** A part is lost beyond repair: what is right is to say so. */
  readonly isLost?: true;
  readonly make: (world: World) => void;
}

/** Ordinary requests of users: `web` asks `search`, which asks `store`. */
export function shop(trace: Trace, more: More = {}): Made {
  const web = trace.user("web", "GET /", 60, more);
  return browse(web);
}

/** What `web` does for such a request. */
export function browse(web: Made): Made {
  web.ask("search", "GET /search", 5, 40).ask("store", "GET /item", 5, 20);
  return web;
}

export const shops = (world: World): void => world.every(20, (trace) => shop(trace));
