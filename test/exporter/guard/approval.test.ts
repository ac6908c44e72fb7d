import { describe, expect, it } from "vitest";
import type { ApprovalContext } from "@tradewind/core/contract/change.ts";
import { approval } from "@tradewind/exporter/guard/approval.ts";
import type { GuardContext } from "@tradewind/exporter/guard/step.ts";
import { wishOf } from "../wish.ts";

const OPEN: ApprovalContext = {
  replicasRatio: 0.5,
  referenceReplicas: 10,
  expiresMs: 1_900_000,
  severityBefore: 1,
  changes: [],
};

interface Case {
  readonly to: number;
  readonly from?: number;
  readonly approval?: Partial<ApprovalContext>;
  readonly evidence?: Record<string, number>;
  readonly mode?: GuardContext["mode"];
}

function after({ approval: changes, evidence = {}, from = 10, mode = "act", to }: Case) {
  const context: GuardContext = {
    wish: wishOf({
      allocation: { replicas: to },
      evidence,
      observed: { replicasWanted: from, complete: true },
    }),
    decidedAtMs: 1_000_000,
    previous: { replicas: from },
    previousDecidedAtMs: 985_000,
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    mode,
    approval: { ...OPEN, ...changes },
  };
  const verdict = approval.apply({ replicas: to }, context);
  return { replicas: verdict?.allocation?.replicas ?? to, reason: verdict?.reason };
}

const change = (toReplicas: number, more: Partial<ApprovalContext["changes"][number]> = {}) => ({
  changes: [{ id: "0123456789", fromReplicas: 10, toReplicas, state: "approved" as const, ...more }],
});

describe("the approval of large changes", () => {
  it.each<[string, Case, number]>([
    ["lets a change of the allowed share go", { to: 15 }, 15],
    ["holds a larger one up", { to: 16 }, 10],
    ["holds a larger one down", { to: 4 }, 10],
    ["counts small steps since the reference as one", { from: 15, to: 17 }, 15],
    ["lets a way back to the reference go", { from: 20, to: 17 }, 17],
    ["lets growth go as far as CPU demand needs", { to: 30, evidence: { needReplicas: 17.3 } }, 18],
    [
      "lets all growth go in an emergency of two decisions",
      { to: 30, evidence: { tailOverObjective: 2 }, approval: { severityBefore: 2.5 } },
      30,
    ],
    ["holds growth after one bad decision", { to: 30, evidence: { tailOverObjective: 3 } }, 10],
    [
      "holds a decrease in an emergency",
      { to: 2, evidence: { tailOverObjective: 3 }, approval: { severityBefore: 3 } },
      10,
    ],
    ["goes as far as was approved", { to: 30, approval: change(20) }, 20],
    ["goes no further than proposed although more was approved", { to: 18, approval: change(20) }, 18],
    ["does not shrink for an approval to grow", { to: 2, approval: change(20) }, 10],
    ["shrinks as far as was approved", { to: 1, approval: change(3) }, 3],
    [
      "waits for the time that was approved",
      { to: 20, approval: change(20, { notBeforeMs: 1_000_001 }) },
      10,
    ],
    ["goes when that time has come", { to: 20, approval: change(20, { notBeforeMs: 1_000_000 }) }, 20],
    ["holds nothing where nothing is carried out", { to: 30, mode: "recommend" }, 30],
  ])("%s", (_what, given, replicas) => {
    expect(after(given).replicas).toBe(replicas);
  });

  it("names the change that waits, the same for all who read the same plan, and keeps it while it stands open", () => {
    const { reason } = after({ to: 16 });
    expect(reason).toMatchObject({
      code: "approval-awaited",
      fromReplicas: 10,
      toReplicas: 16,
      expiresMs: 1_900_000,
    });
    expect(after({ to: 16 }).reason).toEqual(reason);
    const open = change(16, { state: "awaiting" });
    expect(after({ to: 19, approval: open }).reason).toMatchObject({ change: "0123456789", toReplicas: 16 });
  });
});
