import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Shadow } from "./shadow.ts";

const BOUNDS = ["low", "middle", "high"] as const;

/** What the last week came to beside what the HPA before would have come to: the same figures as of a report of that week. */
export function registerShadow(
  registry: Registry,
  application: string,
  shadow: Pick<Shadow, "lastWeek">,
): void {
  const gauge = (
    name: string,
    help: string,
    of: (set: (policy: string, value: number) => void) => void,
  ): void => {
    const made = new Gauge({
      name: `tradewind_predictor_${name}`,
      help,
      labelNames: ["application", "policy"],
      registers: [registry],
      collect() {
        this.reset();
        of((policy, value) => this.set({ application, policy }, value));
      },
    });
    made.reset();
  };
  const ofHpa = (bound: (typeof BOUNDS)[number]): string => (bound === "middle" ? "hpa" : `hpa-${bound}`);
  gauge(
    "week_cost",
    "Price of the last seven days, of what ran and of what the HPA before would have run, with the least and the most that it may have been.",
    (set) => {
      const week = shadow.lastWeek();
      if (week === undefined) return;
      set("running", week.cost);
      for (const bound of BOUNDS) set(ofHpa(bound), week.hpaCost[bound]);
    },
  );
  gauge(
    "week_requests_over_ratio",
    "Share of the requests of the last seven days over their objective or failed, measured and as the HPA before would have had it.",
    (set) => {
      const week = shadow.lastWeek();
      if (week === undefined || week.requests === 0) return;
      set("running", week.requestsOver / week.requests);
      for (const bound of BOUNDS) set(ofHpa(bound), week.hpaRequestsOver[bound] / week.requests);
    },
  );
}
