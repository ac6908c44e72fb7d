import { steady } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { shop, withWork } from "../../applications/course-shop.ts";

/** A Node.js or Python process in a container of two cores: full at half of its CPU. Every request is twice the usual work. */
export const ONE_THREAD_SHOP = shop((each) => ({
  ...withWork(each, 2),
  threads: 1,
  container: { ...each.container, cpuRequestCores: 2, cpuLimitCores: 2 },
}));

export const ONE_THREAD = obstacle({
  name: "one-thread",
  about: "One thread in containers of two cores: a service is full at half of the CPU that it is given.",
  load: steady(80),
  application: ONE_THREAD_SHOP,
  objectiveMs: 300,
  family: "one-thread",
});
