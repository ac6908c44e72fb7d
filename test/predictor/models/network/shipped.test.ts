import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { packed, unpacked } from "@tradewind/predictor/models/packed.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import { MEDIAN } from "@tradewind/predictor/models/network/shape.ts";
import { SHIPPED_NETWORK } from "@tradewind/predictor/models/network/shipped-network.ts";
import { shippedNetwork } from "@tradewind/predictor/models/network/shipped.ts";
import { ServiceCourse } from "@tradewind/simulator/training/course.ts";
import { drawPlan } from "@tradewind/simulator/training/prior.ts";

it("ships in less than 2 MB, whole, with what it was trained on and judged by", () => {
  const { about, weights } = SHIPPED_NETWORK;
  expect(JSON.stringify(SHIPPED_NETWORK).length).toBeLessThan(2_000_000);
  expect(packed(unpacked(weights))).toBe(weights);
  expect(createHash("sha256").update(Buffer.from(weights, "base64")).digest("hex")).toBe(about.hash);
  expect(about.heldOut.ratios.network).toBeLessThan(about.heldOut.ratios.curve);
});

const answer = emptyNetworkAnswer();

it("says better than the queueing curve what becomes of services that it never saw, at other sizes and loads", () => {
  const network = shippedNetwork();
  const errors = { network: 0, curve: 0 };
  for (let seed = 777_000_001; seed <= 777_000_024; seed += 1) {
    const rng = seededRng(seed);
    const course = new ServiceCourse(drawPlan(rng), seed);
    let state = network.empty();
    let { moment: now, window } = course.next();
    for (let i = 0; i < 24; i += 1) {
      state = network.after(state, window);
      ({ moment: now, window } = course.next());
    }
    state = network.after(state, window);
    if (!network.isReady(state)) continue;
    const places = [
      now,
      { ...now, quotaCores: 1.5 * now.quotaCores },
      { ...now, requestsPerSecond: 1.5 * now.requestsPerSecond },
    ];
    const [here, ...moved] = places.map((moment) => {
      network.at(state, course.questionAt(moment, now), answer);
      const truth = Math.log(course.trueTail(moment, seed));
      return { truth, network: answer.logs[MEDIAN] ?? Number.NaN, curve: answer.curveLog };
    });
    for (const there of moved) {
      if (here === undefined) continue;
      for (const model of ["network", "curve"] as const)
        errors[model] += Math.abs(there.truth - here.truth - (there[model] - here[model]));
    }
  }
  expect(errors.network).toBeGreaterThan(0);
  expect(errors.network).toBeLessThan(errors.curve);
});
