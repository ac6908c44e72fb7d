import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { PROTOBUF } from "@tradewind/predictor/sources/otlp/responses.ts";
import { judge } from "./judge.ts";
import { play } from "./stage.ts";
import type { Setting } from "./stage.ts";
import { podName, World } from "./traffic.ts";
import type { SentSpan, Trace } from "./traffic.ts";

const WINDOW_MS = 15_000;
/** A multiple of the window's length. */
const START_MS = 1_800_000_000_000;
/** Windows before a loss begins, and windows within which it is to be found. */
const HEALTHY_WINDOWS = 10;
const FOUND_WITHIN = 2;

const SETTING: Setting = {
  entry: "web",
  services: ["web", "search", "store", "mailer"],
  form: PROTOBUF,
};

/** Makes of a span what arrives of it, from some moment on. */
interface Loss {
  readonly name: string;
  /** Whose numbers are wrong then; absent: those of anyone. */
  readonly of?: string;
  readonly setting?: Partial<Setting>;
  readonly change: (span: SentSpan, rng: Rng) => readonly SentSpan[];
}

/** `web` asks `search`, which asks `store` and a database; `mailer` reads what `web` sends. */
function healthy(trace: Trace, pods: () => number, queries: number): void {
  const page = trace.user("web", "GET /", 60, { pod: pods() });
  const find = page.ask("search", "GET /search", 5, 40, { pod: pods() });
  find.ask("store", "GET /item", 5, 20, { pod: pods() }).own("client", "SELECT", 2, 10);
  for (let query = 0; query < queries; query += 1) find.own("client", "GET key", 26 + query, 1);
  const mail = page.own("producer", "mail send", 50, 2);
  mail.span("consumer", "mailer", "mail process", 400, 30, { pod: pods() }).asked();
}

const lost: readonly SentSpan[] = [];
const isOf = (span: SentSpan, service: string, pod?: number): boolean =>
  span.service === service && (pod === undefined || span.resource["k8s.pod.name"] === podName(service, pod));
const later = (span: SentSpan, seconds: number): SentSpan => ({
  ...span,
  arrivesMs: span.arrivesMs + 1e3 * seconds,
});
const shifted = (span: SentSpan, ms: number): SentSpan => ({
  ...span,
  startMs: span.startMs + ms,
  endMs: span.endMs + ms,
});

const dropping =
  (share: number, isMeant: (span: SentSpan) => boolean): Loss["change"] =>
  (span, rng) =>
    isMeant(span) && rng() < share ? lost : [span];
const changing =
  (
    share: number,
    isMeant: (span: SentSpan) => boolean,
    change: (span: SentSpan) => SentSpan,
  ): Loss["change"] =>
  (span, rng) => [isMeant(span) && rng() < share ? change(span) : span];
/** All or nothing of what leaves a pod in one export. */
const batchesOf =
  (service: string, every: number): Loss["change"] =>
  (span) =>
    isOf(span, service) && Math.floor(span.arrivesMs / 1e3) % every === 0 ? lost : [span];
const inner = (span: SentSpan): boolean => span.kind !== SPAN_KIND.server;

const LOSSES: readonly Loss[] = [
  { name: "a tenth of the spans of web", of: "web", change: dropping(0.1, (span) => isOf(span, "web")) },
  {
    name: "a twentieth of the spans of search",
    of: "search",
    change: dropping(0.05, (span) => isOf(span, "search")),
  },
  {
    name: "half of the spans of search",
    of: "search",
    change: dropping(0.5, (span) => isOf(span, "search")),
  },
  {
    name: "a tenth of the spans of store",
    of: "store",
    change: dropping(0.1, (span) => isOf(span, "store")),
  },
  { name: "half of the spans of store", of: "store", change: dropping(0.5, (span) => isOf(span, "store")) },
  {
    name: "a third of the spans of mailer",
    of: "mailer",
    change: dropping(0.33, (span) => isOf(span, "mailer")),
  },
  { name: "one of two pods of web", of: "web", change: dropping(1, (span) => isOf(span, "web", 0)) },
  { name: "one of two pods of search", of: "search", change: dropping(1, (span) => isOf(span, "search", 1)) },
  { name: "one of two pods of store", of: "store", change: dropping(1, (span) => isOf(span, "store", 1)) },
  { name: "one of two pods of mailer", of: "mailer", change: dropping(1, (span) => isOf(span, "mailer", 1)) },
  { name: "every fifth export of search", of: "search", change: batchesOf("search", 5) },
  { name: "every third export of store", of: "store", change: batchesOf("store", 3) },
  { name: "every tenth export of web", of: "web", change: batchesOf("web", 10) },
  { name: "a tenth of all spans", change: dropping(0.1, () => true) },
  { name: "a third of all spans", change: dropping(0.33, () => true) },
  {
    name: "half of the server spans of store",
    of: "store",
    change: dropping(0.5, (span) => isOf(span, "store") && !inner(span)),
  },
  {
    name: "a tenth of the server spans of web",
    of: "web",
    change: dropping(0.1, (span) => isOf(span, "web") && !inner(span)),
  },
  {
    name: "a third of the client spans of web",
    of: "web",
    change: dropping(0.33, (span) => isOf(span, "web") && inner(span)),
  },
  {
    name: "context lost on a fifth of the ways to search",
    of: "search",
    change: (span, rng) => {
      if (!isOf(span, "search") || inner(span) || rng() > 0.2) return [span];
      const { parentId: _, ...rest } = span;
      return [{ ...rest, traceId: `${span.spanId}${span.spanId}` }];
    },
  },
  {
    name: "a third of search twenty seconds late",
    of: "search",
    change: changing(
      0.33,
      (span) => isOf(span, "search"),
      (span) => later(span, 20),
    ),
  },
  {
    name: "a pod of store forty seconds late",
    of: "store",
    change: changing(
      1,
      (span) => isOf(span, "store", 0),
      (span) => later(span, 40),
    ),
  },
  {
    name: "web twelve seconds late, and the grace is set",
    of: "web",
    setting: { graceSeconds: 5 },
    change: changing(
      1,
      (span) => isOf(span, "web"),
      (span) => later(span, 12),
    ),
  },
  {
    name: "clock of a pod of search four minutes behind",
    of: "search",
    change: changing(
      1,
      (span) => isOf(span, "search", 0),
      (span) => shifted(span, -240_000),
    ),
  },
  {
    name: "clock of a pod of store a minute ahead",
    of: "store",
    change: changing(
      1,
      (span) => isOf(span, "store", 0),
      (span) => shifted(span, 60_000),
    ),
  },
  {
    name: "a fifth of search without an end",
    of: "search",
    change: changing(
      0.2,
      (span) => isOf(span, "search") && !inner(span),
      (span) => ({ ...span, endMs: 0 }),
    ),
  },
  {
    name: "a tenth of store that ends before it starts",
    of: "store",
    change: changing(
      0.1,
      (span) => isOf(span, "store") && !inner(span),
      (span) => ({ ...span, endMs: span.startMs - 5 }),
    ),
  },
  {
    name: "a tenth of search without an id",
    of: "search",
    change: changing(
      0.1,
      (span) => isOf(span, "search") && !inner(span),
      (span) => ({ ...span, spanId: "0000000000000000" }),
    ),
  },
  {
    name: "a pod of web that names another namespace",
    of: "web",
    change: changing(
      1,
      (span) => isOf(span, "web", 1),
      (span) => ({ ...span, resource: { ...span.resource, "k8s.namespace.name": "default" } }),
    ),
  },
  {
    name: "a pod of store without a name",
    of: "store",
    change: changing(
      1,
      (span) => isOf(span, "store", 1),
      (span) => ({ ...span, resource: { "service.name": "" } }),
    ),
  },
  {
    name: "a third of all spans twice",
    change: (span, rng) => (rng() < 0.33 ? [span, later(span, 2)] : [span]),
  },
  {
    name: "all spans of web twice, half a minute apart",
    of: "web",
    change: (span) => (isOf(span, "web") ? [span, later(span, 30)] : [span]),
  },
  {
    name: "a pod of search that two agents measure",
    of: "search",
    change: (span) =>
      isOf(span, "search", 0) && !inner(span)
        ? [
            span,
            {
              ...span,
              spanId: `ff${span.spanId.slice(2)}`,
              startMs: span.startMs + 0.1,
              endMs: span.endMs - 0.1,
            },
          ]
        : [span],
  },
];

/** What came of the losses: each one, and how often nothing was lost and something said to be. */
export async function lossFigures(
  seed: number,
  {
    healthyWindows,
    progress,
  }: { readonly healthyWindows: number; readonly progress: (text: string) => void },
): Promise<Record<string, unknown>> {
  const rows: { readonly loss: string; readonly found: boolean; readonly said: string }[] = [];
  for (const loss of LOSSES) {
    progress(`loss: ${loss.name}`);
    rows.push({ loss: loss.name, ...(await inject(loss, seed)) });
  }
  const calm = { windows: 0, alarms: [] as string[] };
  for (let run = 0; calm.windows < healthyWindows; run += 1) {
    progress(`${calm.windows} of ${healthyWindows} healthy windows`);
    const { alarms, windows } = await calmRun(seed + run, Math.min(210, healthyWindows - calm.windows));
    calm.windows += windows;
    calm.alarms.push(...alarms);
  }
  return {
    injected: rows.length,
    found: rows.filter(({ found }) => found).length,
    falseAlarms: calm.alarms.length,
    windows: calm.windows,
    notFound: rows.filter(({ found }) => !found),
    alarms: calm.alarms.slice(0, 10),
  };
}

async function inject(loss: Loss, seed: number): Promise<{ readonly found: boolean; readonly said: string }> {
  const beginMs = START_MS + HEALTHY_WINDOWS * WINDOW_MS;
  const toMs = beginMs + (FOUND_WITHIN + 5) * WINDOW_MS;
  const world = new World(seed, START_MS, toMs);
  const pods = (): number => Math.floor(2 * world.rng());
  world.every(20, (trace) => healthy(trace, pods, 1));
  const spans = world.spans.flatMap((span) => (span.endMs < beginMs ? [span] : loss.change(span, world.rng)));
  const setting = { ...SETTING, ...loss.setting };
  const played = await play(setting, spans, { fromMs: START_MS, toMs });
  const after = played.plans.slice(HEALTHY_WINDOWS, HEALTHY_WINDOWS + FOUND_WITHIN);
  const said = after.flatMap(({ missing = [] }) => missing).join("; ");
  const isNamed = said !== "" && (loss.of === undefined || said.includes(loss.of));
  // What is refused of the next window shows in the last one before.
  const isEarly = played.plans.slice(3, HEALTHY_WINDOWS - 1).some(({ complete }) => !complete);
  const sets = played.sets.slice(HEALTHY_WINDOWS - 3, HEALTHY_WINDOWS + FOUND_WITHIN);
  const { wrong } = judge({ ...played, sets }, setting, world.truth);
  const isRight = wrong.every((text) => text.startsWith("users"));
  return { found: (isNamed || isRight) && !isEarly, said: said === "" ? wrong.join("; ") : said };
}

/** Nothing is lost, whatever else happens: load that comes and goes, caches, failures, pods that are replaced. */
async function calmRun(
  seed: number,
  windows: number,
): Promise<{ readonly windows: number; readonly alarms: readonly string[] }> {
  const toMs = START_MS + windows * WINDOW_MS;
  const world = new World(seed, START_MS, toMs);
  const pods = (): number => Math.floor((2 + 2 * world.rng()) % 4);
  world.every(16, (trace) => {
    const atWindow = (trace.startMs - START_MS) / WINDOW_MS;
    const load = 0.6 + 0.4 * Math.sin(atWindow / 13 + seed);
    if (world.rng() > load) return;
    const queries = atWindow % 70 > 50 ? 3 : world.rng() < 0.4 ? 0 : 1;
    if (atWindow % 90 > 80) trace.user("web", "GET /cached", 4, { pod: pods() });
    else healthy(trace, pods, queries);
  });
  const { plans } = await play(SETTING, world.spans, { fromMs: START_MS, toMs });
  return {
    windows: plans.length,
    alarms: plans.flatMap(({ missing = [] }, index) => missing.map((text) => `window ${index}: ${text}`)),
  };
}
