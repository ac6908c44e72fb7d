import { flashCrowd } from "../model/load.ts";
import { hotelPlant } from "./hotel-plant.ts";

export const FLASH_CROWD = hotelPlant({
  name: "flash-crowd",
  about: "60 requests a second become 300 within 30 seconds, for ten minutes.",
  load: flashCrowd({ base: 60, peak: 300, startSeconds: 600, riseSeconds: 30, holdSeconds: 600 }),
  seconds: 2_400,
});
