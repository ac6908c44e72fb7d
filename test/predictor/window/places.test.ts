import { expect, it } from "vitest";
import { Places } from "@tradewind/predictor/window/places.ts";

it("a place that names none of our pods is another one, as soon as one that does is known", () => {
  const places = new Places(undefined);
  expect(places.isOther("staging", "web", [])).toBe(false);
  expect(places.doubtful()).toEqual([]);
  expect(places.isOther("production", "web", ["web-1"])).toBe(false);
  expect(places.isOther("staging", "web", [])).toBe(true);
  expect(places.doubtful()).toEqual([]);
});

it("two places of one service without pods are doubtful, two of different services are not", () => {
  const places = new Places(undefined);
  places.isOther("prod", "web", []);
  places.isOther("production", "search", []);
  expect(places.doubtful()).toEqual([]);
  places.isOther("staging", "web", []);
  expect(places.doubtful()).toEqual(["prod", "production", "staging"]);
});

it("two places that both name our pods are ours, unless they name the same pods", () => {
  const places = new Places(undefined);
  places.isOther("stable", "web", ["web-1"]);
  places.isOther("canary", "web", ["web-2"]);
  expect(places.doubtful()).toEqual([]);
  places.isOther("canary", "web", ["web-1"]);
  expect(places.doubtful()).toEqual(["stable", "canary"]);
});

it("a place that no span named for ten minutes is forgotten: after a change of names there is no doubt", () => {
  const places = new Places(undefined);
  places.refresh(0);
  places.isOther("prod", "web", []);
  places.refresh(700_000);
  places.isOther("production", "web", []);
  expect(places.doubtful()).toEqual([]);
});

it("the place that is set is ours, and every other one is not", () => {
  const places = new Places("production");
  expect(places.isOther("staging", "web", ["web-1"])).toBe(true);
  expect(places.isOther("production", "web", [])).toBe(false);
});
