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
      latencyNative: z.object({ latency: z.string().max(20) }).optional(),
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
  const found: LatencySlo[] = [];
  for (const document of parseAllDocuments(text)) {
    if ("errors" in document && document.errors.length > 0)
      throw new TradewindError("invalid-input", `${file}: ${describeError(document.errors[0])}`);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    const sloth = SlothFile.safeParse(value).data?.slos ?? SlothObject.safeParse(value).data?.spec.slos ?? [];
    for (const { name, objective, sli } of sloth) {
      const query = sli.events?.errorQuery ?? sli.events?.error_query ?? "";
      found.push(...slo(`Sloth '${name}'`, bucketSeconds(query), objective / 100));
    }
    const pyrra = Pyrra.safeParse(value).data;
    if (pyrra !== undefined) {
      const { latency, latencyNative } = pyrra.spec.indicator;
      const seconds =
        latencyNative === undefined
          ? bucketSeconds(latency?.success.metric ?? "")
          : parseDurationSeconds(latencyNative.latency);
      found.push(...slo(`Pyrra '${pyrra.metadata.name}'`, seconds, Number(pyrra.spec.target) / 100));
    }
    const open = OpenSlo.safeParse(value).data;
    if (open !== undefined) found.push(...openSlo(open));
  }
  return found;
}

function openSlo({ metadata, spec }: z.infer<typeof OpenSlo>): LatencySlo[] {
  const { ratioMetric, thresholdMetric } = spec.indicator?.spec ?? {};
  const query = (metric: z.infer<typeof Metric>): string =>
    Object.values(metric?.metricSource.spec ?? {})
      .filter((part) => typeof part === "string")
      .join(" ");
  return spec.objectives.flatMap(({ target, targetPercent, value }) => {
    const seconds =
      thresholdMetric !== undefined && value !== undefined
        ? value * unitSeconds(query(thresholdMetric))
        : bucketSeconds(`${query(ratioMetric?.good)} ${query(ratioMetric?.bad)}`);
    const share = target ?? (targetPercent === undefined ? undefined : targetPercent / 100);
    return slo(`OpenSLO '${metadata.name}'`, seconds, share);
  });
}

function slo(from: string, seconds: number | undefined, percentile: number | undefined): LatencySlo[] {
  if (seconds === undefined || percentile === undefined || !(percentile > 0 && percentile < 1)) return [];
  return [{ from, milliseconds: +(1e3 * seconds).toPrecision(6), percentile: +percentile.toPrecision(6) }];
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
