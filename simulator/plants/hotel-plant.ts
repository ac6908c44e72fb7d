import { hotelReservation } from "../applications/hotel-reservation.ts";
import { replicasFor } from "../model/demand.ts";
import { lognormal } from "../model/distribution.ts";
import type { Load } from "../model/plant-model.ts";
import { plantOf } from "../plant.ts";
import type { Plant } from "../world.ts";

/** A plant begins with the pods that hold its first rate at this share of their CPU limits. */
const START_UTILISATION = 0.6;

export interface HotelPlant {
  readonly name: string;
  readonly about: string;
  readonly load: Load;
  readonly seconds: number;
}

/**
 * Hotel Reservation on eight nodes of eight cores: one-core containers with eight threads, p95 of 150 ms as the objective, a
 * fifth of the traces kept.
 */
export function hotelPlant({ about, load, name, seconds }: HotelPlant): Plant {
  return plantOf({
    name,
    about,
    objective: { milliseconds: 150 },
    warmUpSeconds: 120,
    model: {
      application: hotelReservation(replicasFor(hotelReservation(), load(0), START_UTILISATION)),
      load,
      seconds,
      cluster: {
        nodes: 8,
        nodeCores: 8,
        nodeMemoryBytes: 32 * 2 ** 30,
        podStartMs: lognormal(45_000, 0.2),
      },
      telemetry: { sampledRatio: 0.2, spanDelaySeconds: 2 },
    },
  });
}
