import { seededRng } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/endtoend/call-graph.ts";
import { bindResidual, FlowPredictor } from "@tradewind/predictor/endtoend/flow-predictor.ts";
import { FlowTail } from "@tradewind/predictor/endtoend/flow-tail.ts";
import { describe, expect, it } from "vitest";
import { emptySet, flowOf, randomCalls } from "./random-application.ts";
import { randomResidual, randomTails } from "./random-residual.ts";

function make(count: number, seed: number, withResidual = true) {
  const rng = seededRng(seed);
  // The application numbers its services in another order than the model does.
  const names = Array.from({ length: count }, (_, service) => `s${count - 1 - service}`);
  const index = serviceIndex(names);
  const graph = compileFlow(flowOf(randomCalls(count, rng)), emptySet, index)!;
  const tails = randomTails(count, rng);
  const shares = new Float64Array(count).fill(0.4);
  const model = randomResidual(count, rng);
  const residual = withResidual ? bindResidual(model, index) : undefined;
  return { graph, tails, shares, model, index, predictor: new FlowPredictor(graph, tails, shares, residual) };
}

describe("FlowPredictor", () => {
  it("without a residual says what the call graph says", () => {
    const { graph, tails, shares, predictor } = make(6, 1, false);
    const graphTail = new FlowTail(graph, tails, shares);
    expect(predictor.tailSeconds).toBe(graphTail.tailSeconds);
    expect(predictor.tailIf(2, 1)).toBe(graphTail.tailIf(2, 1));
  });

  it("multiplies the call graph's tail by exp(r), whatever order the application names its services in", () => {
    const { graph, tails, shares, model, index, predictor } = make(6, 2);
    const rows = Float64Array.from(model.services, (name) => tails[index.numberOf.get(name)!]!);
    const residual = new AttentionResidual(model).evaluate(rows);
    expect(predictor.tailSeconds).toBeCloseTo(
      new FlowTail(graph, tails, shares).tailSeconds * Math.exp(residual),
      12,
    );
  });

  it("takes a service that nothing was measured of as its training did", () => {
    const { graph, tails, shares, model, index } = make(6, 3);
    const unmeasured = Float64Array.from(tails);
    unmeasured[2] = 0;
    const predictor = new FlowPredictor(graph, unmeasured, shares, bindResidual(model, index));
    const rows = Float64Array.from(
      model.services,
      (name) => unmeasured[index.numberOf.get(name)!] || Number.NaN,
    );
    expect(predictor.logResidual).toBe(new AttentionResidual(model).evaluate(rows));
  });

  it("has the gradient of its value, by central differences", () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const { tails, predictor } = make(2 + (seed % 8), seed);
      const gradient = new Float64Array(tails.length);
      predictor.addGradient(1, gradient);
      for (const [service, tail] of tails.entries()) {
        const step = 1e-6 * tail;
        const slope =
          (predictor.tailIf(service, tail + step) - predictor.tailIf(service, tail - step)) / (2 * step);
        expect(Math.abs(gradient[service]! - slope)).toBeLessThan(1e-5 * (1 + Math.abs(slope)));
      }
    }
  });

  it("comes to the same after a change as when asked what if, and leaves the state as it was after asking", () => {
    const { predictor } = make(5, 7);
    const before = predictor.tailSeconds;
    const wouldBe = predictor.tailIf(3, 0.5);
    expect(predictor.tailSeconds).toBe(before);
    predictor.setOwnTail(3, 0.5);
    expect(predictor.tailSeconds).toBeCloseTo(wouldBe, 12);
    expect(wouldBe).not.toBe(before);
  });

  it("holds the residual where it is in applications of more than a hundred services", () => {
    const { graph, tails, shares, predictor } = make(101, 8);
    const ofGraph = new Float64Array(101);
    const gradient = new Float64Array(101);
    new FlowTail(graph, tails, shares).addGradient(Math.exp(predictor.logResidual), ofGraph);
    predictor.addGradient(1, gradient);
    expect([...gradient]).toEqual([...ofGraph]);
    const held = predictor.logResidual;
    predictor.setOwnTail(50, 0.9);
    expect(predictor.logResidual).toBe(held);
  });

  it("does without a service of the model that is gone", () => {
    const { graph, tails, shares, model, index } = make(4, 9);
    const renamed = { ...model, services: ["s0", "gone", "s2", "s3"] };
    const predictor = new FlowPredictor(graph, tails, shares, bindResidual(renamed, index));
    const gradient = new Float64Array(4);
    predictor.addGradient(1, gradient);
    expect(Number.isFinite(predictor.tailSeconds)).toBe(true);
    expect([...gradient].every(Number.isFinite)).toBe(true);
  });
});
