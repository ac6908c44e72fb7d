import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";
import { cpu, service, shop, to, work } from "../../applications/course-shop.ts";

const SHOP = shop((each) =>
  each.name === "front"
    ? {
        ...each,
        operations: {
          serve: [
            ...(each.operations["serve"] ?? []),
            { kind: "send", call: to("mailer", { count: { kind: "chance", chance: 0.15 } }) },
          ],
        },
      }
    : each,
);
const MAILER = service("mailer", [cpu(work(18))], { replicas: 8, consumer: { concurrency: 4 } });

export const OFF_PATH_WORKER = obstacle({
  name: "off-path-worker",
  about:
    "A worker behind a queue that no user waits for runs eight pods at four percent of their CPU: money lies there.",
  load: steady(USUAL_LOAD),
  application: { ...SHOP, services: [...SHOP.services, MAILER] },
});
