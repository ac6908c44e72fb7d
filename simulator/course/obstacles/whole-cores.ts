import type { ServiceModel } from "../../model/application-model.ts";
import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { shop } from "../../applications/course-shop.ts";

const wholeCore = (each: ServiceModel): ServiceModel => ({
  ...each,
  container: { ...each.container, cpuRequestCores: 1, cpuLimitCores: 1 },
});

export const WHOLE_CORES = obstacle({
  name: "whole-cores",
  about: "The wave at twice the load on containers of one core instead of half a one; slower to simulate.",
  load: wave(60, 200, 600),
  application: shop(wholeCore),
  seconds: 900,
  family: "whole-cores",
});
