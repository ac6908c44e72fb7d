import { expect, it } from "vitest";
import { play } from "../../bench/laws/world.ts";

const SEEDS = 200;

it("laws of what KEDA is answered hold over 200 worlds, and a process was killed at every failpoint", async () => {
  const kills = new Map<string, number>();
  let answers = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const result = await play(seed, kills);
    expect(result.breaches).toEqual([]);
    answers += result.answers;
  }
  expect(answers).toBeGreaterThan(10 * SEEDS);
  const never = [...kills].filter(([, count]) => count === 0).map(([name]) => name);
  expect(never).toEqual([]);
}, 300_000);

it("a world is the same for the same seed", async () => {
  const once = [await play(7, new Map()), await play(8, new Map())];
  expect([await play(7, new Map()), await play(8, new Map())]).toEqual(once);
});

it("laws notice a disk that says it has flushed and has not", async () => {
  const laws = new Set<string>();
  for (let seed = 1; seed <= SEEDS && laws.size === 0; seed += 1) {
    const { breaches } = await play(seed, new Map(), { lyingDisk: true });
    for (const { law } of breaches) laws.add(law);
  }
  expect([...laws]).toContain("durable");
}, 300_000);
