import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { until } from "../../until.ts";
import { stage } from "./stage.ts";
import type { Pod, Stage } from "./stage.ts";

/** grpc-go, which KEDA is made with, resolves a name at most this often (`MinResolutionInterval`). */
const RESOLVE_SECONDS = 30;
/** Seconds of a cluster pass in so many milliseconds here. */
const MILLIS_OF_A_SECOND = 60;

const values = parse(
  readFileSync(new URL("../../../../charts/tradewind/values.yaml", import.meta.url), "utf8"),
) as { scaler: { preStopSleepSeconds: number; minReadySeconds: number } };
const { minReadySeconds, preStopSleepSeconds } = values.scaler;

async function pass(seconds: number): Promise<void> {
  const endMs = performance.now() + seconds * MILLIS_OF_A_SECOND;
  await until("the time to pass", () => performance.now() >= endMs);
}

/** Two exporters behind the Service and two that are about to be, with KEDA polling. It may resolve the name again. */
async function surroundings(): Promise<{ on: Stage; old: [Pod, Pod]; young: [Pod, Pod] }> {
  const on = await stage({ resolveEveryMs: RESOLVE_SECONDS * MILLIS_OF_A_SECOND });
  const [a, b, c, d] = await Promise.all([on.join(), on.join(), on.join(), on.join()]);
  for (const { address } of [c, d]) leave(on, address);
  on.watch();
  await on.answers(10);
  await pass(RESOLVE_SECONDS);
  on.keda.countAnew();
  return { on, old: [a, b], young: [c, d] };
}

const leave = (on: Stage, address: string): void => {
  on.addresses.splice(on.addresses.indexOf(address), 1);
};

/** The node is gone, and the pod with it. KEDA looks up who is left. */
async function crash(on: Stage, { address, process }: Pod): Promise<void> {
  const before = on.resolutions();
  leave(on, address);
  await process.kill("SIGKILL");
  await until("KEDA to look", () => on.resolutions() > before);
}

/** Of the exporters that KEDA knows two die within 30 s. One that takes the place of the first runs before, and KEDA does not know it. */
async function twoDie(known: number): Promise<Stage> {
  const on = await stage({ resolveEveryMs: RESOLVE_SECONDS * MILLIS_OF_A_SECOND });
  const pods = await Promise.all(Array.from({ length: known + 1 }, async () => on.join()));
  const replacement = pods.pop()!;
  leave(on, replacement.address);
  on.watch();
  await on.answers(10);
  await pass(RESOLVE_SECONDS);
  on.keda.countAnew();
  const [first, second] = pods;
  await crash(on, first!);
  on.addresses.push(replacement.address);
  // One poll is not cut off by both.
  await on.answers(3);
  leave(on, second!.address);
  await second!.process.kill("SIGKILL");
  await on.answers(20);
  return on;
}

/** A pod is deleted. The Service lists it until it is gone (`publishNotReadyAddresses`). */
async function remove(on: Stage, { address, process }: Pod, preStopSeconds: number): Promise<void> {
  await pass(preStopSeconds);
  await process.kill("SIGTERM");
  leave(on, address);
}

/** One of two crashes, and the other one is replaced right after; then the young ones in their turn. */
async function crashAndRollOut(preStopSeconds: number): Promise<Stage> {
  const { on, old, young } = await surroundings();
  await crash(on, old[0]);
  on.addresses.push(...young.map(({ address }) => address));
  await remove(on, old[1], preStopSeconds);
  await on.answers(20);
  return on;
}

describe("both exporters replaced within the 30 s in which KEDA does not resolve their name again", () => {
  it(
    "after a crash leave no poll without an answer with the chart's preStop",
    { timeout: 60_000 },
    async () => {
      const { keda } = await crashAndRollOut(preStopSleepSeconds);
      expect(keda.counts).toMatchObject({ failures: 0, specFailures: 0 });
    },
  );

  it("after a crash blind KEDA where a pod ends 5 s after it was told to", { timeout: 60_000 }, async () => {
    const { keda } = await crashAndRollOut(5);
    expect(keda.counts.specFailures).toBeGreaterThan(0);
  });

  it(
    "one after the other, each when its successor is available, leave no poll without an answer",
    {
      timeout: 60_000,
    },
    async () => {
      const { on, old, young } = await surroundings();
      for (const [index, { address }] of young.entries()) {
        on.addresses.push(address);
        await pass(minReadySeconds);
        await remove(on, old[index]!, 0);
      }
      await on.answers(20);
      expect(on.keda.counts).toMatchObject({ failures: 0, specFailures: 0 });
    },
  );
});

describe("two exporters that die within the 30 s in which KEDA does not resolve their name again", () => {
  it("leave no poll without an answer where a third is known", { timeout: 60_000 }, async () => {
    const { keda } = await twoDie(3);
    expect(keda.counts).toMatchObject({ failures: 0, specFailures: 0 });
  });

  it("blind KEDA where they are all that it knows, until it looks", { timeout: 60_000 }, async () => {
    const { keda } = await twoDie(2);
    expect(keda.counts.specFailures).toBeGreaterThan(0);
  });
});
