import { seededRng } from "@tradewind/core/values/rng.ts";
import { Node } from "@tradewind/kubernetes/objects/capacity.ts";
import { BoundPod, Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { Placement } from "@tradewind/predictor/nodes/placement.ts";
import type { Refusal } from "@tradewind/predictor/nodes/placement.ts";
import { z } from "zod";
import type { Benchmark } from "../benchmark.ts";
import { caseOf } from "./clusters.ts";
import { recordedCases } from "./recorded.ts";
import { RealScheduler } from "./scheduler.ts";
import type { Verdict } from "./scheduler.ts";

const CASES = 240;
const QUICK_CASES = 10;
/** Cases that differ of which the report tells. */
const MOST_TOLD = 10;

const Metadata = z.object({
  metadata: z.object({ namespace: z.string(), labels: z.record(z.string(), z.string()) }),
  spec: z.unknown(),
});

/** Why each node does not take the next pod, by the product's own readers and its placement model. */
function refusalsOf({ next, nodes, pods }: Verdict): ReadonlyMap<string, Refusal | undefined> {
  const { metadata, spec } = Metadata.parse(next);
  const list = workloadList(
    {
      scalables: [
        scalable("Deployment").parse({
          metadata: { name: "web", namespace: metadata.namespace, uid: "web" },
          spec: { replicas: 1, template: { metadata, spec } },
        }),
      ],
      replicaSets: [],
      pods: pods.map((pod) => Pod.parse(pod)),
      boundPods: pods.map((pod) => BoundPod.parse(pod)),
      nodes: nodes.map((node) => Node.parse(node)),
      horizontalPodAutoscalers: undefined,
      scaledObjects: [],
      quotas: undefined,
      budgets: undefined,
    },
    () => undefined,
    0,
  );
  const [workload] = list.workloads;
  if (workload?.placing === undefined)
    throw new Error("the readers say nothing of where the next pod may go");
  return new Placement(list.nodes ?? []).refusals(workload.placing);
}

export const benchmark: Benchmark = {
  summary: "agreement with the real kube-scheduler on where the next pod goes",
  run: async ({ progress, quick, seed }) => {
    const rng = seededRng(seed);
    const count = quick ? QUICK_CASES : CASES;
    const recorded = recordedCases();
    const cases = [...recorded, ...Array.from({ length: count }, (_, at) => caseOf(at, rng))];
    const scheduler = await RealScheduler.start();
    const differing: object[] = [];
    let [agree, agreeRecorded, unschedulable] = [0, 0, 0];
    const startedMs = performance.now();
    try {
      for (const [at, each] of cases.entries()) {
        const verdict = await scheduler.decide(each);
        const refusals = refusalsOf(verdict);
        const takers = [...refusals].filter(([, why]) => why === undefined).map(([name]) => name);
        const isSame = verdict.node === undefined ? takers.length === 0 : takers.includes(verdict.node);
        if (verdict.node === undefined) unschedulable += 1;
        if (isSame) agree += 1;
        if (isSame && at < recorded.length) agreeRecorded += 1;
        if (!isSame && differing.length < MOST_TOLD)
          differing.push({
            number: at,
            features: each.features,
            node: verdict.node,
            message: verdict.message,
            refusals: Object.fromEntries(refusals),
          });
        if ((at + 1) % 40 === 0) {
          const leftSeconds = ((performance.now() - startedMs) / 1e3 / (at + 1)) * (cases.length - at - 1);
          progress(`${at + 1} of ${cases.length} next pods; ${Math.ceil(leftSeconds)} s to go`);
        }
      }
    } finally {
      await scheduler.stop();
    }
    const clusters = new Set(recorded.map(({ features: [cluster] }) => cluster)).size;
    return {
      cases: cases.length,
      agree,
      generated: { clusters: count, cases: count, agree: agree - agreeRecorded },
      recorded: { clusters, cases: recorded.length, agree: agreeRecorded },
      unschedulable,
      differing,
    };
  },
};
