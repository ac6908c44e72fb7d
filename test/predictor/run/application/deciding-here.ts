import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { Deciding } from "@tradewind/predictor/run/application/deciding.ts";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import { Published } from "@tradewind/predictor/run/application/published.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import type { Gathered } from "@tradewind/predictor/sources/combine-windows.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { application, START_MS, WINDOW_MS } from "../../measurements.ts";

const SILENT: unknown = new Proxy({}, { get: () => () => undefined });

/** Decisions on windows of 15 s, one after the other, of an application `shop` in a namespace of that name. */
export function deciding(parts: Partial<DecidingOptions>) {
  const own = application({ name: "shop", namespace: "shop" });
  const sets: WindowSet[] = [];
  const states: PolicyState[] = [];
  const clock = { nowMs: () => START_MS + WINDOW_MS, monotonicMs: () => START_MS + WINDOW_MS };
  const published = new Published(clock);
  const made = new Deciding({
    application: () => own,
    options: { choice: "auto", settings: PolicySettings.parse({}) },
    state: emptyState(own.name, own.namespace),
    builder: new WindowBuilder({ windowSeconds: WINDOW_MS / 1e3, namespace: own.namespace }),
    origins: new SpanOrigins(),
    rates: { over: () => new Map() },
    workloads: () => undefined,
    published,
    archive: SILENT as DecidingOptions["archive"],
    metrics: SILENT as DecidingOptions["metrics"],
    clock,
    log: SILENT as DecidingOptions["log"],
    onState: (state) => void states.push(state),
    onWindows: (set) => void sets.push(set),
    ...parts,
  });
  const close = (at: number, gathered: Gathered = NOTHING_GATHERED): void => {
    const startMs = START_MS + at * WINDOW_MS;
    const endMs = startMs + WINDOW_MS;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    made.close({ ...times, era: 0, repeated: false, stoodStillMs: 0 }, gathered, []);
  };
  return { close, deciding: made, published, sets, states };
}
