import { Agent, request } from "undici";
import { z } from "zod";
import type { MetricsPod, PodUsage } from "../metrics-server.ts";
import { NETWORK } from "./network.ts";

const KUBELET = `https://${NETWORK.node}:10250/stats/summary`;

const Summary = z.object({
  pods: z.array(
    z.object({
      podRef: z.object({ name: z.string(), namespace: z.string() }),
      containers: z
        .array(
          z.object({
            name: z.string(),
            cpu: z.object({ time: z.string(), usageNanoCores: z.number().optional() }).optional(),
            memory: z.object({ workingSetBytes: z.number().optional() }).optional(),
          }),
        )
        .default([]),
    }),
  ),
});

/** Asks the kubelet, which trusts everybody here, what the containers of pods use. */
export class KubeletUsage {
  readonly #dispatcher = new Agent({ allowH2: false, connect: { rejectUnauthorized: false } });

  async ask(pods: readonly MetricsPod[]): Promise<(PodUsage | undefined)[]> {
    const { body } = await request(KUBELET, { dispatcher: this.#dispatcher });
    return usageOf(await body.json(), pods);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** @param summary the answer to `/stats/summary` @returns the use of each pod; undefined until that of all its containers is known */
export function usageOf(summary: unknown, pods: readonly MetricsPod[]): (PodUsage | undefined)[] {
  const nameOf = (pod: { name: string; namespace: string }): string => `${pod.namespace}/${pod.name}`;
  const measured = new Map(
    Summary.parse(summary).pods.map(({ containers, podRef }) => [nameOf(podRef), containers]),
  );
  return pods.map(({ metadata, spec }) => {
    const found = measured.get(nameOf(metadata)) ?? [];
    const containers = spec.containers.flatMap(({ name }) => {
      const { cpu, memory } = found.find((each) => each.name === name) ?? {};
      if (cpu?.usageNanoCores === undefined) return [];
      const usage = { cpu: `${cpu.usageNanoCores}n`, memory: String(memory?.workingSetBytes ?? 0) };
      return [{ time: cpu.time, name, usage }];
    });
    const [first] = containers;
    if (first === undefined || containers.length < spec.containers.length) return undefined;
    return { timestamp: first.time, containers: containers.map(({ name, usage }) => ({ name, usage })) };
  });
}
