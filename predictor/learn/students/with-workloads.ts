import type { Wish, WishWorkload } from "@tradewind/core/contract/plan.ts";
import type { Workload, WorkloadList } from "@tradewind/core/contract/workload.ts";

/** Workloads of one service that a wish names. */
const MOST_WORKLOADS = 8;

/** Names in each wish what runs its service, so that a scaler finds the pods while no predictor answers. */
export function withWorkloads(wishes: readonly Wish[], list: WorkloadList | undefined): Wish[] {
  const byService = Map.groupBy(list?.workloads ?? [], ({ service }) => service);
  return wishes.map((wish) => {
    const workloads = byService
      .get(wish.service)
      ?.filter(({ namespace }) => namespace === wish.namespace)
      .slice(0, MOST_WORKLOADS)
      .map((workload) => wishWorkload(workload));
    return workloads === undefined || workloads.length === 0 ? wish : { ...wish, workloads };
  });
}

/** With its main container where its pods have others too. */
function wishWorkload({ name, pods }: Workload): WishWorkload {
  const [pod] = pods;
  const main = pod?.containers.find(({ sidecar }) => sidecar !== true);
  return { name, ...(main !== undefined && { container: main.name }) };
}
