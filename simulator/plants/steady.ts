import { steady } from "../model/load.ts";
import { hotelPlant } from "./hotel-plant.ts";

export const STEADY = hotelPlant({
  name: "steady",
  about: "140 requests a second for 40 minutes: a controller has nothing to gain but cost.",
  load: steady(140),
  seconds: 2_400,
});
