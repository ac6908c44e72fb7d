import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { call, cpu, shop, to, work } from "../../applications/course-shop.ts";

export const FAN_OUT = obstacle({
  name: "fan-out",
  about:
    "Search asks the price of ten offers at once, one short call for each: in parallel, not one after the other.",
  load: wave(20, 100, 600),
  application: shop((each) => {
    if (each.name === "search") {
      const prices = to("price", { count: { kind: "fixed", count: 10 } });
      return { ...each, operations: { serve: [cpu(work(7)), call(prices, to("stock"))] } };
    }
    return each.name === "price" ? { ...each, operations: { serve: [cpu(work(1.2))] } } : each;
  }),
  family: "fan-out",
});
