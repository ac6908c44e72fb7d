import { expect, it } from "vitest";
import { LabelSelector, selects } from "@tradewind/kubernetes/objects/label-selector.ts";

const labels = { app: "cart", tier: "web" };
const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

it.each<[string, object, boolean]>([
  ["nothing asked for", {}, true],
  ["a label", { matchLabels: { app: "cart" } }, true],
  ["two labels of which one differs", { matchLabels: { app: "cart", tier: "db" } }, false],
  ["In with its value", expression("app", "In", "shop", "cart"), true],
  ["In without its value", expression("app", "In", "shop"), false],
  ["In of a label that is not there", expression("zone", "In", "a"), false],
  ["NotIn with its value", expression("app", "NotIn", "cart"), false],
  ["NotIn of a label that is not there", expression("zone", "NotIn", "a"), true],
  ["Exists", expression("app", "Exists"), true],
  ["Exists of a label that is not there", expression("zone", "Exists"), false],
  ["DoesNotExist", expression("zone", "DoesNotExist"), true],
  ["DoesNotExist of a label that is there", expression("app", "DoesNotExist"), false],
  [
    "labels and an expression that fails",
    { matchLabels: { app: "cart" }, ...expression("app", "NotIn", "cart") },
    false,
  ],
])("a label selector: %s", (_what, selector, expected) => {
  expect(selects(LabelSelector.parse(selector), labels)).toBe(expected);
});
