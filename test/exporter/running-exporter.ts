import { onTestFinished } from "vitest";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { RecommendationList as RecommendationListSchema } from "@tradewind/core/contract/recommendation.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import type { ExporterEdges } from "@tradewind/exporter/decision-parts.ts";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { fakePredictor } from "./fake-predictor.ts";
import type { FakePredictor } from "./fake-predictor.ts";
import { until } from "./until.ts";
import { WireClient } from "./serve/keda/wire-client.ts";

export interface TestExporter {
  readonly running: Running;
  readonly http: string;
  readonly client: WireClient;
  readonly predictor: FakePredictor;
  list(): Promise<RecommendationList>;
  /** Waits for a list that satisfies the condition. */
  listWhen(what: string, condition: (list: RecommendationList) => boolean): Promise<RecommendationList>;
  metrics(): Promise<string>;
}

/** What one decision may change is a test's concern only where it says so. */
const ANY_CHANGE = { scaleToZero: true, growRatio: 1_000, growReplicas: 1_000, shrinkRatio: 0 };

/** An exporter on free ports beside a fake predictor; both stop with the test. */
export async function runningExporter(
  plan: Plan | undefined,
  input: ExporterInput = {},
  edges: ExporterEdges = {},
): Promise<TestExporter> {
  const predictor = await fakePredictor(plan);
  const running = await startExporter(
    {
      listen: "127.0.0.1:0",
      grpcListen: "127.0.0.1:0",
      predictor: predictor.url,
      logLevel: "silent",
      restartGrace: 0,
      pollMs: 50,
      limits: ANY_CHANGE,
      ...input,
    },
    edges,
  );
  const http = running.addresses["http"]!;
  const client = new WireClient(running.addresses["grpc"]!);
  onTestFinished(async () => {
    client.close();
    await running.stop();
    await predictor.stop();
  });
  const list = async () => {
    const response = await fetch(`${http}/v1/recommendations`);
    return RecommendationListSchema.parse(await response.json());
  };
  const exporter: TestExporter = {
    running,
    http,
    client,
    predictor,
    list,
    listWhen: (what, condition) =>
      until(what, async () => {
        const current = await list();
        return condition(current) ? current : undefined;
      }),
    metrics: async () => (await fetch(`${http}/metrics`)).text(),
  };
  if (plan !== undefined && plan.wishes.length > 0) {
    await exporter.listWhen("the first decisions", ({ recommendations }) => recommendations.length > 0);
  }
  return exporter;
}
