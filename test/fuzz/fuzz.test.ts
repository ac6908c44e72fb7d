import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ByteMutator } from "./engine/bytes.ts";
import { caseRng } from "./engine/draw.ts";
import { runSlice } from "./engine/run.ts";
import { Broken, replayCommand } from "./engine/target.ts";
import type { Target } from "./engine/target.ts";
import { ValueMutator } from "./engine/values.ts";
import { TARGETS } from "./targets/list.ts";

const SEED = 1;
/** So many cases of each target, whatever the machine: a longer run is `npm run fuzz`. */
const CASES = { parser: 100, slow: 10, port: 60 } as const;

const PORTS = TARGETS.filter(({ kind }) => kind === "port");
const OTHERS = TARGETS.filter(({ kind }) => kind !== "port");
const START_MS = 60_000;

describe("every port, given mutated sessions", () => {
  beforeAll(async () => {
    await Promise.all(PORTS.map(async ({ open }) => open?.()));
  }, START_MS);
  afterAll(async () => {
    for (const { close } of PORTS) await close?.();
  }, START_MS);

  it.each(PORTS.map((target) => [target.name, target] as const))("%s holds", async (_name, target) => {
    const { finding, ran } = await runSlice(target, SEED, { from: 0, count: CASES.port });
    expect(finding).toBeUndefined();
    expect(ran).toBe(CASES.port);
  });
});

describe("every parser, given mutated input", () => {
  it.each(OTHERS.map((target) => [target.name, target] as const))("%s holds", async (_name, target) => {
    await target.open?.();
    try {
      const { finding, ran } = await runSlice(target, SEED, { from: 0, count: CASES[target.kind] });
      expect(finding).toBeUndefined();
      expect(ran).toBe(CASES[target.kind]);
    } finally {
      await target.close?.();
    }
  });

  it("is in the list under a name of its own", () => {
    expect(new Set(TARGETS.map(({ name }) => name)).size).toBe(TARGETS.length);
  });
});

/** Reads `a=…;` and breaks when the number in it is 7 or the text is long. */
const brittle: Target = {
  name: "test/brittle",
  kind: "parser",
  make: (rng) => new ByteMutator(["x=1;a=3;z=9", "a=1;b=2;c=3;d=4"], ["a=7", ";"]).make(rng),
  run: (input) => {
    if (
      Buffer.from(input as Uint8Array)
        .toString("latin1")
        .includes("a=7;")
    )
      throw new Broken("seven", "there is a 7");
  },
};

describe("the fuzzer", () => {
  it("finds what breaks, makes it as small as it can be, and comes to the same when it is replayed", async () => {
    const { finding } = await runSlice(brittle, SEED, { from: 0, count: 5_000 });
    expect(finding).toMatchObject({
      target: "test/brittle",
      kind: "seven",
      cases: 1,
      input: '"a=7;"',
      inputBytes: 4,
    });
    const again = await runSlice(brittle, SEED, { from: finding!.case, count: 1 });
    expect(again.finding).toEqual(finding);
    expect(replayCommand(finding!)).toBe(
      `npm run fuzz -- --target test/brittle --seed 1 --case ${finding!.case}`,
    );
  });

  it("takes an exception that is not documented for a finding", async () => {
    const throwing: Target = {
      name: "test/throwing",
      kind: "parser",
      make: (rng) => new ValueMutator([{ a: { b: [1, 2] } }]).make(rng),
      run: (input) => {
        const { a } = input as { a: { b: number[] } };
        a.b.map((each) => each);
      },
    };
    const { finding } = await runSlice(throwing, SEED, { from: 0, count: 1_000 });
    expect(finding?.kind).toBe("threw TypeError");
    expect(finding?.inputBytes).toBeLessThan(12);
  });

  it("names the cases since a process was last seen well", async () => {
    let cases = 0;
    const sick: Target = {
      name: "test/sick",
      kind: "port",
      lanes: 2,
      probeEvery: 8,
      make: () => 0,
      run: async () => {
        cases += 1;
      },
      probe: async () => {
        if (cases > 20) throw new Broken("down", "it does not answer");
      },
    };
    const { finding } = await runSlice(sick, SEED, { from: 0, count: 100 });
    expect(finding).toMatchObject({ kind: "down", message: "it does not answer" });
    const { case: from = 0, cases: count = 0 } = finding ?? {};
    expect(from).toBeLessThanOrEqual(20);
    expect(from + count).toBeGreaterThan(20);
    expect(replayCommand(finding!)).toContain(`--cases ${count}`);
  });

  it("draws the same case for the same seed, target and number, and others for others", () => {
    const drawn = (seed: number, name: string, number: number): string =>
      Buffer.from(brittle.make(caseRng(seed, name, number)) as Uint8Array).toString("hex");
    expect(drawn(1, "a", 5)).toBe(drawn(1, "a", 5));
    const cases = Array.from({ length: 200 }, (_, number) => drawn(1, "a", number));
    expect(new Set(cases).size).toBeGreaterThan(150);
    expect(cases).not.toEqual(Array.from({ length: 200 }, (_, number) => drawn(2, "a", number)));
    expect(cases).not.toEqual(Array.from({ length: 200 }, (_, number) => drawn(1, "b", number)));
  });
});
