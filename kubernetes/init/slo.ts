import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";

/** A latency objective that somebody has written down already. */
export interface LatencySlo {
  /** `Sloth 'checkout-latency'`, for a person. */
  readonly from: string;
  readonly milliseconds: number;
  /** Share of requests that must be faster, (0, 1). */
  readonly percentile: number;
  /** What it is measured by, which may name a service. */
  readonly query: string;
}

const Text = z.string().max(20_000);
/** Sloth: https://sloth.dev/specs/default/ and its Kubernetes form. Of an SLO by events the bucket says the latency. */
const SlothSlo = z.object({
  name: Text,
  objective: z.number().gt(0).lt(100),
  sli: z.object({
    events: z.object({ errorQuery: Text.optional(), error_query: Text.optional() }).optional(),
  }),
});
const SlothFile = z.object({ version: z.literal("prometheus/v1"), slos: z.array(SlothSlo) });
const SlothObject = z.object({
  kind: z.literal("PrometheusServiceLevel"),
  spec: z.object({ slos: z.array(SlothSlo) }),
});

/** Pyrra: https://github.com/pyrra-dev/pyrra, an objective on the bucket of a histogram, classic or native. */
const Pyrra = z.object({
  kind: z.literal("ServiceLevelObjective"),
  metadata: z.object({ name: Text }),
  spec: z.object({
    target: z.union([z.string().max(20), z.number()]),
    indicator: z.object({
      latency: z.object({ success: z.object({ metric: Text }) }).optional(),
      latencyNative: z
        .object({ latency: z.string().max(20), total: z.object({ metric: Text }).optional() })
        .optional(),
    }),
  }),
});

/** OpenSLO v1: https://github.com/OpenSLO/OpenSLO, a threshold on a latency, or the share of good events. */
const Metric = z.object({ metricSource: z.object({ spec: z.record(z.string(), z.unknown()) }) }).optional();
const OpenSlo = z.object({
  apiVersion: z.string().startsWith("openslo/"),
  kind: z.literal("SLO"),
  metadata: z.object({ name: Text }),
  spec: z.object({
    indicator: z
      .object({
        spec: z.object({
          thresholdMetric: Metric,
          ratioMetric: z.object({ good: Metric, bad: Metric }).optional(),
        }),
      })
      .optional(),
    objectives: z.array(
      z.object({
        target: z.number().gt(0).lt(1).optional(),
        targetPercent: z.number().gt(0).lt(100).optional(),
        value: z.number().positive().optional(),
      }),
    ),
  }),
});

/**
 * The latency objectives of OpenSLO, Sloth and Pyrra objects, as a file has them. Those on errors or availability are passed over.
 * @throws TradewindError `invalid-input` that names the file
 */
export function latencySlosOf(text: string, file: string): LatencySlo[] {
  return parseAllDocuments(text).flatMap((document) => {
    if ("errors" in document && document.errors.length > 0)
      throw new TradewindError("invalid-input", `${file}: ${describeError(document.errors[0])}`);
    return latencySlosIn(document.toJS({ maxAliasCount: 100 }));
  });
}

/** The latency objectives of one object of these tools; none of what is no such object. */
export function latencySlosIn(object: unknown): LatencySlo[] {
  const sloths =
    SlothFile.safeParse(object).data?.slos ?? SlothObject.safeParse(object).data?.spec.slos ?? [];
  const slos = sloths.flatMap(({ name, objective, sli }) => {
    const query = sli.events?.errorQuery ?? sli.events?.error_query ?? "";
    return slo(`Sloth '${name}'`, bucketSeconds(query), objective / 100, query);
  });
  const pyrra = Pyrra.safeParse(object).data;
  if (pyrra !== undefined) {
    const { latency, latencyNative } = pyrra.spec.indicator;
    const query = latency?.success.metric ?? latencyNative?.total?.metric ?? "";
    const seconds =
      latencyNative === undefined ? bucketSeconds(query) : parseDurationSeconds(latencyNative.latency);
    slos.push(...slo(`Pyrra '${pyrra.metadata.name}'`, seconds, Number(pyrra.spec.target) / 100, query));
  }
  const open = OpenSlo.safeParse(object).data;
  return open === undefined ? slos : [...slos, ...openSlo(open)];
}

/** The objective of an entry among those that were found: the only one whose query names it, else the only one at all. */
export function sloOf(slos: readonly LatencySlo[], entry: string): LatencySlo | undefined {
  const named = slos.filter(({ query }) => query.includes(`"${entry}"`) || query.includes(`'${entry}'`));
  const [only, ...more] = named.length === 0 ? slos : named;
  return more.length === 0 ? only : undefined;
}

function openSlo({ metadata, spec }: z.infer<typeof OpenSlo>): LatencySlo[] {
  const { ratioMetric, thresholdMetric } = spec.indicator?.spec ?? {};
  const query = (metric: z.infer<typeof Metric>): string =>
    Object.values(metric?.metricSource.spec ?? {})
      .filter((part) => typeof part === "string")
      .join(" ");
  const measured = query(thresholdMetric) || `${query(ratioMetric?.good)} ${query(ratioMetric?.bad)}`;
  return spec.objectives.flatMap(({ target, targetPercent, value }) => {
    const seconds =
      thresholdMetric !== undefined && value !== undefined
        ? value * unitSeconds(measured)
        : bucketSeconds(measured);
    const share = target ?? (targetPercent === undefined ? undefined : targetPercent / 100);
    return slo(`OpenSLO '${metadata.name}'`, seconds, share, measured);
  });
}

function slo(
  from: string,
  seconds: number | undefined,
  percentile: number | undefined,
  query: string,
): LatencySlo[] {
  if (seconds === undefined || percentile === undefined || !(percentile > 0 && percentile < 1)) return [];
  return [
    { from, milliseconds: +(1e3 * seconds).toPrecision(6), percentile: +percentile.toPrecision(6), query },
  ];
}

const BUCKET = /\ble\s{0,4}=~?\s{0,4}["']([0-9.]{1,12})["']/;

/** The bound of the first bucket that a query names, seconds. */
function bucketSeconds(query: string): number | undefined {
  const bound = Number(BUCKET.exec(query.slice(0, 20_000))?.[1] ?? Number.NaN);
  return bound > 0 ? bound * unitSeconds(query) : undefined;
}

/** What a metric's name says of its unit; seconds where it says nothing, as Prometheus asks for. */
const unitSeconds = (query: string): number =>
  /_milliseconds|_ms(?:_bucket)?\b/.test(query.slice(0, 20_000)) ? 0.001 : 1;

/**
 * The one latency objective of a file.
 * @throws TradewindError `invalid-input` where it has none, or several and no name says which
 */
export async function readSlo(path: string): Promise<LatencySlo> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-input", `${path} cannot be read`, { cause: error });
  }
  const [only, ...more] = latencySlosOf(text, path);
  if (only === undefined)
    throw new TradewindError(
      "invalid-input",
      `${path} holds no latency objective of OpenSLO, Sloth or Pyrra: a bucket (le="0.25") or a threshold says how fast`,
    );
  if (more.length > 0)
    throw new TradewindError(
      "invalid-input",
      `${path} holds ${more.length + 1} latency objectives: ${[only, ...more].map(({ from }) => from).join(", ")}; give a file with one, or --objective`,
    );
  return only;
}
