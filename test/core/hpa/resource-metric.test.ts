import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import { proposeByUtilisation, proposeByValue } from "@tradewind/core/hpa/resource-metric.ts";
import type { MeasuredPod } from "@tradewind/core/hpa/resource-metric.ts";

const NOW_MS = 3_600_000;
/** A pod that has been ready for long: requests one core unless said. */
const pod = (used: number | undefined, other: Partial<MeasuredPod> = {}): MeasuredPod => ({
  isScheduled: true,
  isDeleting: false,
  isReady: true,
  startedAtMs: 0,
  readinessChangedAtMs: 60_000,
  requested: 1,
  ...(used !== undefined && { used, sampledAtMs: NOW_MS }),
  ...other,
});
const starting = (other: Partial<MeasuredPod> = {}): MeasuredPod =>
  pod(0.9, {
    isReady: false,
    startedAtMs: NOW_MS - 20_000,
    readinessChangedAtMs: NOW_MS - 20_000,
    ...other,
  });
const replicas = (pods: readonly MeasuredPod[], targetPercent: number, current = pods.length) =>
  proposeByUtilisation(pods, { targetPercent, behavior: KUBERNETES_DEFAULT_BEHAVIOR }, current, NOW_MS)
    ?.replicas;

describe("a CPU utilisation target, with the formula ceil(current · metric / target) of the Kubernetes documentation", () => {
  it("doubles 200m used for 100m wanted, and halves 50m", () => {
    // "if the current metric value is 200m, and the desired value is 100m, the number of replicas will be doubled"
    const requested = 0.2;
    const doubled = [pod(0.2, { requested }), pod(0.2, { requested })];
    expect(replicas(doubled, 50)).toBe(4);
    const halved = [1, 2, 3, 4].map(() => pod(0.05, { requested }));
    expect(replicas(halved, 50)).toBe(2);
  });

  it("goes from 1 to 7 replicas in the walkthrough's load of 305 % against 50 %", () => {
    expect(replicas([pod(0.61, { requested: 0.2 })], 50)).toBe(7);
  });

  it("does nothing within 10 % of the target and acts just outside of it", () => {
    const ten = (used: number) => Array.from({ length: 10 }, () => pod(used));
    expect(replicas(ten(0.55), 50)).toBe(10);
    expect(replicas(ten(0.56), 50)).toBe(12);
    expect(replicas(ten(0.45), 50)).toBe(10);
    expect(replicas(ten(0.44), 50)).toBe(9);
  });

  it("cuts the utilisation to whole percent, as the controller does", () => {
    // 55.9 % is 55 % and so within the tolerance of 50 %.
    expect(replicas([pod(0.559), pod(0.559)], 50)).toBe(2);
  });

  it("relates the use of all pods to all they request", () => {
    expect(replicas([pod(0.9, { requested: 1 }), pod(0.1, { requested: 3 })], 50)).toBe(1);
  });
});

describe("pods that are not ready or have no sample", () => {
  it("fails without any usable sample", () => {
    expect(replicas([pod(undefined), starting()], 50)).toBeUndefined();
    expect(replicas([], 50)).toBeUndefined();
  });

  it("leaves out a pod that starts when the rest asks for fewer replicas", () => {
    expect(replicas([pod(0.2), pod(0.2), starting()], 50)).toBe(1);
  });

  it("counts a pod that starts as idle when the rest asks for more, which damps the growth", () => {
    // Ready ones: 90 of 50 %: ceil(1.8 · 2) = 4. With a third at 0 %: 60 % of 50 %: ceil(1.2 · 3) = 4.
    expect(replicas([pod(0.9), pod(0.9), starting()], 50)).toBe(4);
    // Two starting: 45 % of 50 %: the direction would turn round, so nothing moves.
    expect(replicas([pod(0.9), pod(0.9), starting(), starting()], 50)).toBe(4);
  });

  it("counts a pod without a sample as using all it requests when the rest asks for fewer", () => {
    // Three at 20 % and one taken for 100 %: 40 % of 50 %: ceil(0.8 · 4) = 4.
    expect(replicas([pod(0.2), pod(0.2), pod(0.2), pod(undefined)], 50)).toBe(4);
    // Alone the three would ask for ceil(0.4 · 3) = 2.
    expect(replicas([pod(0.2), pod(0.2), pod(0.2)], 50)).toBe(2);
  });

  it("counts a pod without a sample as idle when the rest asks for more", () => {
    expect(replicas([pod(0.9), pod(0.9), pod(0.9), pod(undefined)], 50)).toBe(6);
    expect(replicas([pod(0.6), pod(undefined)], 50)).toBe(2);
  });

  it("ignores the sample of a pod younger than 5 min until one whole sample lies after its readiness", () => {
    const young = (readyForSeconds: number) =>
      pod(1, {
        startedAtMs: NOW_MS - 100_000,
        readinessChangedAtMs: NOW_MS - readyForSeconds * 1e3,
      });
    // The start-up burst of 100 % does not count yet: the other one at 50 % is all there is.
    expect(replicas([pod(0.5), young(14)], 50)).toBe(2);
    expect(replicas([pod(0.5), young(15)], 50)).toBe(3);
  });

  it("ignores an old pod only if it has not been ready since its first seconds", () => {
    const never = pod(1, { isReady: false, readinessChangedAtMs: 0 });
    const lost = pod(1, { isReady: false, readinessChangedAtMs: NOW_MS - 5_000 });
    expect(replicas([pod(0.5), never], 50)).toBe(2);
    expect(replicas([pod(0.5), lost], 50)).toBe(3);
  });

  it("takes no account of pods that are being deleted", () => {
    expect(replicas([pod(0.5), pod(0.5), pod(1, { isDeleting: true })], 50, 2)).toBe(2);
  });

  it("never goes up on missing samples alone, nor down", () => {
    const any = fc.record({
      used: fc.option(fc.double({ min: 0, max: 2, noNaN: true }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 12 }), (pods) => {
        const measured = pods.map(({ used }) => pod(used));
        const known = measured.filter(({ used }) => used !== undefined);
        const withMissing = replicas(measured, 50);
        if (known.length === 0 || known.length === measured.length) return;
        const used = known.reduce((sum, each) => sum + (each.used ?? 0), 0) / known.length;
        expect(used <= 0.51 || (withMissing ?? 0) >= measured.length).toBe(true);
        expect(used >= 0.49 || (withMissing ?? Infinity) <= measured.length).toBe(true);
      }),
    );
  });
});

describe("an external metric with a Value target", () => {
  const propose = (value: number | undefined, current: number, ready: number) =>
    proposeByValue({ value, target: 0.15 }, KUBERNETES_DEFAULT_BEHAVIOR, current, ready)?.replicas;

  it("multiplies the ready pods by the ratio", () => {
    expect(propose(0.3, 4, 4)).toBe(8);
    expect(propose(0.075, 4, 4)).toBe(2);
    expect(propose(0.3, 4, 1)).toBe(2);
  });

  it("keeps the current number inside the tolerance, fails without a value and starts from 0 with the ratio", () => {
    expect(propose(0.16, 4, 1)).toBe(4);
    expect(propose(undefined, 4, 4)).toBeUndefined();
    expect(propose(Number.NaN, 4, 4)).toBeUndefined();
    expect(propose(0.4, 0, 0)).toBe(3);
  });
});
