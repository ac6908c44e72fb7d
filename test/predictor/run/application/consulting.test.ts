import { ApplicationContext, CONTEXT_SCHEMA } from "@tradewind/core/contract/context.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Reasoned } from "@tradewind/predictor/answers/reason/explain.ts";
import type { Prompt } from "@tradewind/predictor/answers/reason/prompt.ts";
import { SKETCH_SCHEMA } from "@tradewind/predictor/answers/reason/sketch.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { consult } from "@tradewind/predictor/run/application/consulting.ts";
import { describe, expect, it } from "vitest";
import { chain, queueing, service, size } from "../../decide/priced.ts";

const high = (signal: "throttledRatio" | "selfTimeP95", value: number) =>
  ({ signal, value, baseline: value / 9, spread: 0.01, z: 20, bin: "high" }) as const;

/** `cart` is slow behind `web`; nothing else of an explanation is read. */
const reasoned = (): Reasoned => ({
  explanation: {
    causes: [{ service: "cart" }],
    objective: { percentile: 0.95, seconds: 0.06 },
  } as unknown as Reasoned["explanation"],
  sketch: {
    schema: SKETCH_SCHEMA,
    application: "shop",
    endMs: 0,
    objective: { percentile: 0.95, seconds: 0.06, tailSeconds: 0.4 },
    services: [
      { id: 1, name: "web", signals: [{ signal: "selfTimeP95", value: 0.01, z: 0, bin: "medium" }] },
      { id: 2, name: "cart", signals: [high("throttledRatio", 0.6), high("selfTimeP95", 0.25)] },
    ],
    calls: [{ from: 1, to: 2, perRequest: 1 }],
  },
});

const contextWith = (maxReplicas: number, cpuMaxCores: number): ApplicationContext =>
  ApplicationContext.parse({
    schema: CONTEXT_SCHEMA,
    application: "shop",
    namespace: "shop",
    entry: "web",
    atMs: 0,
    mode: "act",
    objective: { percentile: 0.95, seconds: 0.06 },
    policy: "auto",
    policyReason: "cheapest",
    startSeconds: 40,
    services: [
      {
        service: "cart",
        replicasReady: 2,
        replicasWanted: 2,
        cpuCores: 1,
        priority: 100,
        nodes: [{ node: "node-a", pods: 2 }],
        revision: "v7",
        bounds: {
          minReplicas: 1,
          maxReplicas,
          cpuMinCores: 0.1,
          cpuMaxCores,
          memoryMinBytes: 1,
          memoryMaxBytes: 1e9,
        },
        unusual: [],
      },
    ],
    moreServices: 0,
    calls: [],
    patterns: [],
    forecast: {
      schema: "tradewind.dev/forecast/v1",
      application: "shop",
      namespace: "shop",
      madeAtMs: 0,
      stepSeconds: 60,
      points: [
        {
          aheadSeconds: 300,
          weights: { naive: 1, short: 0, mean: 0, long: 0, season: 0, regression: 0 },
          low: 90,
          middle: 120,
          high: 160,
        },
      ],
    },
    calendars: [],
    missing: [],
  });

/** Knows nothing but the prompt: reads sizes and signals of the first service, and asks for one of the sizes that may be. */
function answerFrom({ user }: Prompt, rng: () => number): string {
  const line = user.split("\n").find((each) => each.startsWith('2 "cart"'))!;
  const [, least, most, leastCores, mostCores] =
    /may be: replicas (\d+) to (\d+), cpu ([\d.]+) to ([\d.]+)/.exec(line)!;
  const evidence = [...line.matchAll(/(throttledRatio|selfTimeP95)=([\d.]+)/g)].map(([, signal, value]) => ({
    signal,
    value: Number(value),
  }));
  const isCpu = rng() < 0.5;
  const [from, to] = isCpu ? [Number(leastCores), Number(mostCores)] : [Number(least), Number(most)];
  const step = isCpu
    ? from + (to - from) * (0.5 + rng() / 2)
    : from + Math.ceil((to - from) * (0.01 + rng() * 0.99));
  const change = { id: 2, resource: isCpu ? "cpu" : "replicas", from, to: step, expected: "better" };
  return `<think>slow</think><Fault>${JSON.stringify([{ id: 2, type: "C", evidence }])}</Fault>
<Counterfactual>${JSON.stringify([change])}</Counterfactual><root>[{"id":2,"type":"C"}]</root>`;
}

describe("a model that knows nothing but the prompt", () => {
  it("asks for sizes that are valid, ten times of ten", async () => {
    const rng = seededRng(7);
    for (let time = 0; time < 10; time += 1) {
      const replicas = 1 + Math.floor(rng() * 5);
      const cores = 0.2 + rng() * 1.3;
      const own = queueing(0.03, 0.02);
      const requestsPerSecond = (0.8 * replicas * cores) / 0.02;
      const cart = service("cart", { base: size(replicas, cores), own, requestsPerSecond });
      const models = new WhatIf(() => chain([service("web", { requestsPerSecond, base: size(20) }), cart]));
      const model = { model: "stub", ask: async (prompt: Prompt) => answerFrom(prompt, rng) };
      const told = { context: contextWith(replicas + 2, 1.4 * cores) };
      const { opinion } = (await consult(model, reasoned(), models, told))!;
      expect(opinion.verdicts).toEqual({ kept: 2 });
      const [change] = opinion.counterfactuals;
      expect(change!.to).toBeGreaterThan(change!.from);
      expect(change!.to).toBeLessThanOrEqual(change!.resource === "cpu" ? 1.4 * cores : replicas + 2);
    }
  });

  it("is told replicas, sizes, bounds, nodes, versions, what is to come and what one more would do", async () => {
    const prompts: Prompt[] = [];
    const ask = async (prompt: Prompt): Promise<undefined> => void prompts.push(prompt);
    const gain = (seconds: number) => ({
      seconds,
      lowSeconds: 2 * seconds,
      highSeconds: 0,
      costPerHour: 1,
      missCostPerHour: 0,
    });
    const sensitivities = [
      {
        service: "cart",
        replicas: 2,
        cpuCores: 1,
        memoryBytes: 0,
        slowestRoute: "GET /",
        latencySeconds: 0.4,
        perCore: gain(-0.2),
        perReplica: gain(-0.1),
        perGibibyte: { seconds: 0, costPerHour: 0, reason: "no effect is known" },
        routes: [],
      },
    ];
    const models = new WhatIf(() => chain([service("cart")]));
    await consult({ model: "stub", ask }, reasoned(), models, { context: contextWith(4, 2), sensitivities });
    const [{ user }] = prompts as [Prompt];
    for (const part of [
      "replicas 2 ready of 2",
      "each 1 cores",
      "bounds: replicas 1 to 4",
      "may be: replicas 2 to 4, cpu 1 to 2",
      "one more: replica -0.1 s, core -0.2 s",
      "priority 100",
      'on "node-a" 2',
      'version "v7"',
      "in 300 s 120 (90 to 160)",
      "a pod serves 40 s after the decision",
    ])
      expect(user).toContain(part);
    expect(user.indexOf('2 "cart"')).toBeLessThan(user.indexOf('1 "web"'));
  });
});
