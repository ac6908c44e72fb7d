export { estimate } from "@tradewind/core/values/estimate.ts";
export type { Estimate } from "@tradewind/core/values/estimate.ts";

/** Whether no other point is at least as good in both, and better in one; smaller is better. */
export function isOnFront(
  point: { readonly over: number; readonly cost: number },
  others: readonly { readonly over: number; readonly cost: number }[],
): boolean {
  return !others.some(
    ({ cost, over }) => over <= point.over && cost <= point.cost && (over < point.over || cost < point.cost),
  );
}
