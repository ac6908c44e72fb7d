import { generated } from "@tradewind/simulator/applications/generated.ts";
import { hotelReservation } from "@tradewind/simulator/applications/hotel-reservation.ts";
import { media } from "@tradewind/simulator/applications/media.ts";
import { onlineBoutique } from "@tradewind/simulator/applications/online-boutique.ts";
import { socialNetwork } from "@tradewind/simulator/applications/social-network.ts";
import { sockShop } from "@tradewind/simulator/applications/sock-shop.ts";
import { trainTicket } from "@tradewind/simulator/applications/train-ticket.ts";
import { shop } from "@tradewind/simulator/applications/course-shop.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";
import { obstacle } from "@tradewind/simulator/course/obstacle.ts";
import { weekOf } from "@tradewind/simulator/course/obstacles/diurnal-week.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { ApplicationModel } from "@tradewind/simulator/model/application-model.ts";
import { replicasFor } from "@tradewind/simulator/model/demand.ts";

/** Public applications after their source, and three that nobody wrote. */
const MODELS: readonly ((replicas: Readonly<Record<string, number>>) => ApplicationModel)[] = [
  hotelReservation,
  media,
  onlineBoutique,
  socialNetwork,
  sockShop,
  trainTicket,
  () => shop(),
  ...[8, 16, 24].map((services) => () => generated({ services, seed: services })),
];

const DAYS = 9;
const DAY_SECONDS = 240;
const LOAD = weekOf(DAY_SECONDS);
/** CPU used of what is requested, at the start. */
const BUSY_RATIO = 0.4;

/** Nine short days of each application under HPAs at 60 % CPU. */
export function recordedApplications(): readonly Obstacle[] {
  return MODELS.map((model) => {
    const replicas = replicasFor(model({}), LOAD(0), BUSY_RATIO);
    const application = model(replicas);
    const input = {
      name: application.name,
      about: "A week in short days.",
      application,
      load: LOAD,
      seconds: DAYS * DAY_SECONDS,
      cluster: { nodes: 40 },
    };
    return obstacleOf(obstacle(input));
  });
}
