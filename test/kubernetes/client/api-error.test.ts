import { describe, expect, it } from "vitest";
import { refusal } from "@tradewind/kubernetes/client/api-error.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";

const retryAfterMs = (retryAfterSeconds: number): number | undefined =>
  refusal(
    "get",
    { resource: RESOURCES.pods },
    { status: 429, text: JSON.stringify({ details: { retryAfterSeconds } }), retryAfterMs: undefined },
  ).retryAfterMs;

describe("a refusal that says when to ask again", () => {
  it("is taken at its word", () => {
    expect(retryAfterMs(3)).toBe(3_000);
  });

  it("is asked again after a day, however long it says", () => {
    expect(retryAfterMs(1e308)).toBe(86_400_000);
  });
});
