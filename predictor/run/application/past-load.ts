import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { LEVEL_COUNT } from "../../decide/cost/learn/outlook.ts";
import { flowsOfUsers } from "../../decide/facts/user-flows.ts";
import type { LoadInterval } from "../../forecast/load-series.ts";

/** Who counted the requests of a service. Metrics know of those, too, of which no spans are sent. */
type CountedBy = "spans" | "metrics";

const countedBy = ({ ownLatency, ownLatencyDerived }: Window): CountedBy =>
  ownLatency !== undefined && ownLatencyDerived !== true ? "spans" : "metrics";

/** All requests to the entry service in a time before, those of other services among them. */
export interface PastLoad extends LoadInterval {
  readonly countedBy: CountedBy;
}

/** Undefined where no requests are known of the window. */
export function pastLoadOf(window: Window): PastLoad | undefined {
  const { endMs, requestsPerSecond: perSecond = 0, startMs } = window;
  return perSecond > 0 ? { startMs, endMs, perSecond, countedBy: countedBy(window) } : undefined;
}

/** Sums over the same live windows. */
interface Compared {
  /** Requests of users' routes, and all to the entry service, per second. */
  users: number;
  all: number;
  /** Calls of users' routes that were measured. */
  calls: number;
}

/**
 * The load of a time before as that of users' routes, which is what the load measured live is. Stored are all requests to the entry service: the
 * share of users among them is taken to be that of the live windows, and until {@link LEVEL_COUNT} requests have shown it the past
 * is not used. What metrics counted is compared with what they count now.
 */
export class PastLoads {
  private past: readonly PastLoad[] = [];
  private readonly compared: Record<CountedBy, Compared> = {
    spans: { users: 0, all: 0, calls: 0 },
    metrics: { users: 0, all: 0, calls: 0 },
  };

  /** @param past by rising start, without overlap; takes the place of what was not taken up yet */
  learn(past: readonly PastLoad[]): void {
    this.past = past;
  }

  /**
   * Takes up a live window of which nothing is missing.
   * @param asked the same window as sources of metrics know it, the most trusted first
   */
  observe(windowSet: WindowSet, asked: readonly WindowSet[], application: Application): void {
    const { entry, namespace } = application;
    const flows = flowsOfUsers(windowSet.flows, application);
    const users = flows.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
    const calls = flows.reduce((sum, { latency }) => sum + latency.count, 0);
    const isEntry = (window: Window): boolean => window.service === entry && window.namespace === namespace;
    const compare = (by: CountedBy, window: Window | undefined): void => {
      const all = window?.requestsPerSecond ?? 0;
      if (window === undefined || countedBy(window) !== by || !(all > 0 && users > 0)) return;
      const sums = this.compared[by];
      sums.users += users;
      sums.all += all;
      sums.calls += calls;
    };
    compare("spans", windowSet.windows.find(isEntry));
    const counted = asked.flatMap(({ windows }) => windows.filter(isEntry));
    compare(
      "metrics",
      counted.find(({ requestsPerSecond = 0 }) => requestsPerSecond > 0),
    );
  }

  /** What can be said of the past now, by rising start; each of it once. The rest waits for live windows to compare it with. */
  take(): LoadInterval[] {
    const isKnown = (by: CountedBy): boolean => this.compared[by].calls >= LEVEL_COUNT;
    const known = this.past.filter((each) => isKnown(each.countedBy));
    if (known.length > 0) this.past = this.past.filter((each) => !isKnown(each.countedBy));
    return known.map(({ countedBy: by, endMs, perSecond, startMs }) => {
      const { all, users } = this.compared[by];
      return { startMs, endMs, perSecond: (perSecond * users) / all };
    });
  }
}
