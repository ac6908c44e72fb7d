import { hotelReservation } from "../../applications/hotel-reservation.ts";
import { onlineBoutique } from "../../applications/online-boutique.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { replicasFor } from "../../model/demand.ts";
import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

const LOAD = wave(30, 150, 600);

const of = (name: string, about: string, application: ApplicationModel) =>
  obstacle({ name, about, application, load: LOAD, seconds: 900, family: name });

const hotel = hotelReservation();
const boutique = onlineBoutique();

/** Call graphs that are not from this house. */
export const OTHER_APPLICATIONS = [
  of(
    "hotel-reservation",
    "A wave on DeathStarBench's hotel reservation: four routes over eight services of one core.",
    hotelReservation(replicasFor(hotel, LOAD(0), 0.4)),
  ),
  of(
    "online-boutique",
    "A wave on Google's Online Boutique: six routes, calls in long rows, some services of one thread.",
    onlineBoutique(replicasFor(boutique, LOAD(0), 0.4)),
  ),
];
