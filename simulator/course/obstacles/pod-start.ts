import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

const starts = (seconds: number) =>
  obstacle({
    name: `pod-start-${seconds}`,
    about: `The wave, with pods that take about ${seconds} s to start.`,
    load: wave(20, 100, 600),
    cluster: { podStartMs: { kind: "uniform", low: 900 * seconds, high: 1_100 * seconds } },
  });

export const POD_STARTS = [20, 60, 180].map((seconds) => starts(seconds));
