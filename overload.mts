import { decide } from "./predictor/decide/ladder.ts";
import { inputs, START_MS, WINDOW_MS, application, flow, windowSet } from "./test/predictor/measurements.ts";
import { made } from "./test/predictor/decide/decisions.ts";
import { modelledWindow } from "./test/predictor/decide/modelled.ts";
const choice = (process.argv[2] ?? "auto") as any;
const app = application({ objective: { milliseconds: 1000, windowSeconds: 45 } });
let state: any; let replicas: Record<string, number> = { frontend: 2, customer: 2, driver: 2, route: 2 };
const act = process.argv[3] === "act";
const base = { frontend: 0.02, customer: 0.9, driver: 0.1, route: 0.15 } as any;
const visits = { frontend: 1, customer: 1, driver: 1, route: 10 } as any;
for (let at = 0; at < 40; at++) {
  const over = at >= 20;
  const rate = over ? 3.33 : 2.5;
  const startMs = START_MS + at * WINDOW_MS;
  const factor = over ? 1 + (at - 19) * 1.5 : 1;
  const windows = Object.keys(base).map((s) => {
    const w = modelledWindow(made(s, { replicas: replicas[s], requestsPerSecond: rate * visits[s], cpuSecondsPerRequest: s === "route" ? 0.01 : 0.005, baseSeconds: base[s] }), startMs);
    if (s === "customer" && over) for (const l of [w.ownLatency!, w.responseLatency!]) for (const k of ["meanSeconds", "p50Seconds", "p95Seconds", "p99Seconds"] as const) (l as any)[k] *= factor;
    w.callees = [];
    return w;
  });
  windows[0]!.beganPerSecond = over ? 4.2 : 2.5;
  const tail = 0.02 + base.customer * factor * 0.9 + 0.1 + 0.15 * 2;
  const calls = [["frontend", "customer", 1], ["frontend", "driver", 1], ["frontend", "route", 10]].map(([caller, callee, callsPerRequest]) => ({ caller, callee, callsPerRequest, parallelRatio: callee === "route" ? 0.9 : 0 })) as any;
  const f = { ...flow(Object.keys(base), tail, { calls, requestsPerSecond: rate, flow: "GET /dispatch" }) };
  f.latency = { ...f.latency, count: 50 };
  const set = windowSet(windows, [f]);
  const outcome = decide(inputs(set, { application: app, choice, ...(state && { state }), nowMs: set.endMs + 5000 }));
  state = outcome.state;
  const w = Object.fromEntries(outcome.plan.wishes.map((x) => [x.service, x.allocation.replicas]));
  if (at > 16) {
    console.log(at, outcome.plan.policy, (outcome.plan.measuredLatencySeconds ?? 0).toFixed(1), JSON.stringify(w), outcome.plan.policyReason.slice(0, 230));
    if (over && at % 6 === 0 && outcome.whatIf) for (const s of ["customer", "route"]) for (const n of [1, 2, -1]) { const e = outcome.whatIf.resized(s, { resource: "replicas", steps: n }); if (e) console.log("   ", s, n, e.tailBeforeSeconds.toFixed(2), e.tailAfterSeconds.toFixed(2)); }
    if (at === 26) for (const x of outcome.plan.wishes) console.log("   ", x.service, x.reason);
  }
  if (act) replicas = w as any;
}
