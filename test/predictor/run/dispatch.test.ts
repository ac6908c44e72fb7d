import { describe, expect, it } from "vitest";
import { Dispatch } from "@tradewind/predictor/run/dispatch.ts";
import { SPAN_KIND, SpanBatch } from "@tradewind/predictor/window/span.ts";

const NOW_MS = 1_750_000_000_000;

/** A batch of one span for each of these, `namespace/service` each. */
function batchOf(...services: readonly string[]): SpanBatch {
  const batch = new SpanBatch();
  batch.clear(NOW_MS);
  for (const [index, each] of services.entries()) {
    const [namespace, service = ""] = each.split("/");
    batch.add({
      traceId: String(index + 1).padStart(32, "0"),
      spanId: String(index + 1).padStart(16, "0"),
      resource: { service, namespace },
      kind: SPAN_KIND.server,
      startMs: NOW_MS,
      durationMs: 1,
    });
  }
  return batch;
}

/** Namespaces `shop` and `bank` have an application of their name; what is of `both` may be of each of the two. */
function dispatch() {
  const taken: string[] = [];
  const intake = (owner: string) => (batch: SpanBatch) => {
    const services = Array.from(
      { length: batch.length },
      (_, at) => batch.resources[batch.resource[at] ?? 0]?.service,
    );
    taken.push(`${owner}: ${services.join(" ")}`);
    batch.adjustedCount.fill(4, 0, batch.length);
    return { accepted: batch.length, rejected: 0, reasons: {} };
  };
  const made = new Dispatch({
    claim: (namespace = "") => {
      if (namespace === "both") return { several: ["shop", "bank"] };
      return ["shop", "bank", "gone"].includes(namespace)
        ? { owner: namespace, rivals: [] }
        : { several: [] };
    },
    intake: (owner) => (owner === "gone" ? undefined : intake(owner)),
  });
  return { made, taken };
}

describe("spans for several applications", () => {
  it("go whole to the one that all of them are of", () => {
    const { made, taken } = dispatch();
    expect(made.add(batchOf("shop/a", "shop/b"))).toMatchObject({ accepted: 2, rejected: 0 });
    expect(taken).toEqual(["shop: a b"]);
  });

  it("are parted in order, and those of nobody and of one that is gone are refused and counted", () => {
    const { made, taken } = dispatch();
    const batch = batchOf("shop/a", "shop/b", "bank/a", "dev/a", "gone/a", "bank/c");
    expect(made.add(batch)).toEqual({ accepted: 4, rejected: 2, reasons: { "no-application": 2 } });
    expect(taken).toEqual(["shop: a b", "bank: a", "bank: c"]);
    expect(made.drops).toEqual({ "no-application": 2 });
    // For how many requests each counts is left in the batch, which goes on to the other predictors.
    expect([...batch.adjustedCount.subarray(0, 6)]).toEqual([4, 4, 4, 0, 0, 4]);
  });

  it("that may be of two are handed to both, and count once", () => {
    const { made, taken } = dispatch();
    const batch = batchOf("both/a", "both/b", "bank/a");
    expect(made.add(batch)).toEqual({ accepted: 3, rejected: 0, reasons: {} });
    expect(taken.toSorted()).toEqual(["bank: a", "bank: a", "bank: b", "shop: a", "shop: b"]);
    expect([...batch.adjustedCount.subarray(0, 3)]).toEqual([4, 4, 4]);
  });
});
