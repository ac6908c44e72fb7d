import { wave } from "../model/load.ts";
import { hotelPlant } from "./hotel-plant.ts";

export const WAVE = hotelPlant({
  name: "wave",
  about: "Two slow waves between 40 and 240 requests a second, 30 minutes each.",
  load: wave(40, 240, 1_800),
  seconds: 3_600,
});
