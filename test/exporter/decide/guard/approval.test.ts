import { describe, expect, it } from "vitest";
import type { ApprovalContext } from "@tradewind/core/contract/change.ts";
import { guard } from "@tradewind/exporter/decide/guard/guard.ts";
import { approvals } from "@tradewind/exporter/decide/guard/approval.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { GuardContext } from "@tradewind/exporter/decide/guard/step.ts";
import { wishOf } from "../../wish.ts";

const OPEN: ApprovalContext = {
  replicasRatio: 0.5,
  containerRatio: 0.5,
  reference: { replicas: 10 },
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
  readonly floor?: number;
}

function after({ approval: changes, evidence = {}, floor, from = 10, mode = "act", to }: Case) {
  const context: GuardContext = {
    wish: wishOf({
      allocation: { replicas: to },
      evidence,
      observed: { replicasWanted: from, complete: true },
      bounds: { ...wishOf().bounds, maxReplicas: 100 },
    }),
    decidedAtMs: 1_000_000,
    previous: { replicas: from },
    previousDecidedAtMs: 985_000,
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    mode,
    approval: { ...OPEN, ...changes },
    ...(floor !== undefined && {
      calendars: [{ calendar: "lunch", floorReplicas: floor, fromMs: 0, untilMs: 2_000_000 }],
    }),
  };
  const { actions, final } = guard(context, approvals);
  return { replicas: final?.replicas, reason: actions?.[0]?.reasons?.[0] };
}

const change = (toReplicas: number, more: Partial<ApprovalContext["changes"][number]> = {}) => ({
  changes: [
    {
      id: "0123456789",
      resource: "replicas" as const,
      from: 10,
      to: toReplicas,
      state: "approved" as const,
      expiresMs: 1_900_000,
      ...more,
    },
  ],
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

  it("asks nobody for what a calendar's floor keeps", () => {
    expect(after({ to: 2, floor: 10 })).toEqual({ replicas: 2, reason: undefined });
    expect(after({ to: 2, floor: 14 })).toEqual({ replicas: 2, reason: undefined });
    expect(after({ to: 2, floor: 4 }).reason).toMatchObject({ code: "approval-awaited", from: 10, to: 4 });
  });

  it("asks for growth beyond a calendar's floor", () => {
    expect(after({ to: 16, floor: 12 }).reason).toMatchObject({ code: "approval-awaited", to: 16 });
  });

  it("names the change that waits, the same for all who read the same plan, and keeps it while it stands open", () => {
    const { reason } = after({ to: 16 });
    expect(reason).toMatchObject({
      code: "approval-awaited",
      resource: "replicas",
      from: 10,
      to: 16,
      expiresMs: 1_900_000,
    });
    expect(after({ to: 16 }).reason).toEqual(reason);
    const open = change(16, { state: "awaiting" });
    expect(after({ to: 19, approval: open }).reason).toMatchObject({ change: "0123456789", to: 16 });
  });
});

const RUNNING: Allocation = { replicas: 4, cpuCores: 0.5, memoryBytes: 256e6 };

interface SizeCase {
  /** What the plan asks for in place of what runs. */
  readonly to: Partial<Allocation>;
  readonly running?: Partial<Allocation>;
  readonly approved?: Partial<ApprovalContext["changes"][number]> &
    Pick<ApprovalContext["changes"][number], "resource" | "to">;
  readonly reference?: Partial<Allocation>;
  readonly evidence?: Record<string, number>;
  readonly severityBefore?: number;
  readonly cpuStepCores?: number;
}

function sized({
  approved,
  cpuStepCores,
  evidence = {},
  reference,
  running = RUNNING,
  severityBefore = 1,
  to,
}: SizeCase) {
  const { replicas = 4, ...container } = running;
  const context: GuardContext = {
    wish: wishOf({
      allocation: { ...RUNNING, ...to },
      evidence,
      observed: { replicasWanted: replicas, ...container, complete: true },
      bounds: { ...wishOf().bounds, ...(cpuStepCores !== undefined && { cpuStepCores }) },
    }),
    decidedAtMs: 1_000_000,
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    mode: "act",
    approval: {
      ...OPEN,
      severityBefore,
      reference: { replicas, ...container, ...reference },
      changes: approved
        ? [{ id: "0123456789", from: 0.5, state: "approved", expiresMs: 1_900_000, ...approved }]
        : [],
    },
  };
  return guard(context);
}

describe("the approval of large changes of containers", () => {
  it.each<[string, SizeCase, Partial<Allocation>]>([
    ["lets CPU of the allowed share go", { to: { cpuCores: 0.7 } }, { cpuCores: 0.7 }],
    ["holds more CPU", { to: { cpuCores: 0.9 } }, { cpuCores: 0.5 }],
    ["holds less CPU", { to: { cpuCores: 0.2 } }, { cpuCores: 0.5 }],
    ["holds more memory", { to: { memoryBytes: 512e6 } }, { memoryBytes: 256e6 }],
    ["holds less memory", { to: { memoryBytes: 100e6 } }, { memoryBytes: 256e6 }],
    [
      "lets memory grow as far as its highest peak",
      { to: { memoryBytes: 520e6 }, evidence: { memoryPeakBytes: 400e6 } },
      { memoryBytes: 400e6 },
    ],
    [
      "lets all growth go in an emergency of two decisions",
      { to: { cpuCores: 2 }, evidence: { tailOverObjective: 2 }, severityBefore: 2 },
      { cpuCores: 2 },
    ],
    [
      "grows as far as was approved",
      { to: { cpuCores: 2 }, approved: { resource: "cpu", to: 1 } },
      { cpuCores: 1 },
    ],
    [
      "shrinks as far as was approved",
      { to: { memoryBytes: 64e6 }, approved: { resource: "memory", to: 100e6, from: 256e6 } },
      { memoryBytes: 100e6 },
    ],
    [
      "does not take an approval of memory for one of CPU",
      { to: { cpuCores: 2 }, approved: { resource: "memory", to: 1e9, from: 256e6 } },
      { cpuCores: 0.5 },
    ],
    [
      "counts small steps since the reference as one",
      { to: { cpuCores: 0.9 }, running: { ...RUNNING, cpuCores: 0.7 }, reference: { cpuCores: 0.5 } },
      { cpuCores: 0.7 },
    ],
    [
      "leaves containers that state no size as they are",
      {
        to: { memoryBytes: 200e6 },
        running: { replicas: 4, cpuCores: 0.5 },
        evidence: { memoryPeakBytes: 150e6, tailOverObjective: 3 },
        severityBefore: 3,
      },
      { memoryBytes: undefined },
    ],
    [
      "keeps the replicas that a larger container was to replace, and those that CPU demand needs",
      { to: { cpuCores: 2, replicas: 2 }, evidence: { needReplicas: 4.5 } },
      { cpuCores: 0.5, replicas: 5 },
    ],
    [
      "keeps the containers that more replicas were to replace",
      { to: { cpuCores: 0.3, replicas: 16 } },
      { cpuCores: 0.5, replicas: 4 },
    ],
  ])("%s", (_what, given, expected) => {
    const { final } = sized(given);
    expect({ ...final }).toMatchObject(
      Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)),
    );
    for (const [size, value] of Object.entries(expected)) {
      expect(final?.[size as keyof Allocation]).toBe(value);
    }
  });

  it("names one change for each size, with what it would become inside the bounds and in whole steps", () => {
    const { actions } = sized({ to: { cpuCores: 0.93, memoryBytes: 9e9 }, cpuStepCores: 0.25 });
    expect(actions?.flatMap(({ reasons = [] }) => reasons)).toMatchObject([
      { code: "approval-awaited", resource: "cpu", from: 0.5, to: 1 },
      { code: "approval-awaited", resource: "memory", from: 256e6, to: 4e9 },
    ]);
  });

  it("does not propose again what was refused, and says so", () => {
    const { actions, final } = sized({
      to: { cpuCores: 2 },
      approved: { resource: "cpu", to: 1, state: "refused" },
    });
    expect(final?.cpuCores).toBe(0.5);
    expect(actions?.[0]?.reasons).toMatchObject([{ code: "approval-refused", change: "0123456789", to: 1 }]);
  });
});
