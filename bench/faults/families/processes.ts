import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { PODS } from "../../stage/setting.ts";
import type { Part, Pod } from "../../stage/setting.ts";
import type { Stage } from "../../stage/stage.ts";

const SECONDS = 8;
/** One more replica within so many windows of 2 s: two that miss, a plan and a poll. */
const GROWS_WITHIN = 9;
/** The other predictor has then closed windows in which it doubted. */
const UNTIL_NOTICED_MS = 6_000;

/** kill -9, and started again later, as a kubelet does. */
function killed(
  name: string,
  summary: string,
  which: readonly (readonly [Pod, Part])[],
  more: Partial<Fault> = {},
): Fault {
  return {
    name,
    summary,
    seconds: SECONDS,
    ...more,
    begin: async (stage) => {
      await Promise.all(which.map(async ([pod, part]) => stage.process(pod, part).kill()));
    },
    end: async (stage) => stage.heal(),
  };
}

/** SIGSTOP: its ports stay open and nobody answers. */
function frozen(name: string, summary: string, pod: Pod, part: Part, more: Partial<Fault> = {}): Fault {
  return {
    name,
    summary,
    seconds: SECONDS,
    survives: true,
    ...more,
    begin: async (stage) => stage.process(pod, part).signal("SIGSTOP"),
    end: async (stage) => stage.process(pod, part).signal("SIGCONT"),
  };
}

const nodeMood = (mood: Stage["node"]["mood"]) => async (stage: Stage) => {
  stage.node.mood = mood;
};

export const PROCESS_FAULTS: readonly Fault[] = [
  killed("predictor-killed", "kill -9 of the older predictor, back after 8 s", [[0, "predictor"]], {
    quick: true,
  }),
  killed("predictors-killed", "kill -9 of both predictors at once, back after 8 s", [
    [0, "predictor"],
    [1, "predictor"],
  ]),
  killed("exporter-killed", "kill -9 of one exporter, back after 8 s", [[0, "exporter"]], { quick: true }),
  killed(
    "exporters-killed",
    "kill -9 of both exporters at once, back at once",
    PODS.map((pod) => [pod, "exporter"] as const),
    {
      seconds: 0,
      allows: { unavailableSeconds: 15 },
    },
  ),
  killed("pod-killed", "kill -9 of a predictor and the exporter beside it", [
    [0, "predictor"],
    [0, "exporter"],
  ]),
  frozen("predictor-hangs", "SIGSTOP of the older predictor", 0, "predictor"),
  frozen("exporter-hangs", "SIGSTOP of one exporter", 0, "exporter", { allows: { livenessFailures: true } }),
  {
    ...frozen(
      "peer-hangs",
      "SIGSTOP of the younger predictor; then users wait 2.5 times the objective",
      1,
      "predictor",
    ),
    seconds: 11,
    growsWithin: GROWS_WITHIN,
    begin: async (stage) => {
      stage.process(1, "predictor").signal("SIGSTOP");
      await delay(UNTIL_NOTICED_MS);
    },
  },
  {
    name: "agent-gone",
    summary: "the node's agent answers 503",
    seconds: SECONDS,
    survives: true,
    begin: nodeMood("refuses"),
    end: nodeMood("answers"),
  },
  {
    name: "agent-is-late",
    summary: "in turns of 2 s, the answers of the node's agent take 1.5 s and no time",
    seconds: 2 * SECONDS,
    survives: true,
    begin: nodeMood("is-late"),
    end: nodeMood("answers"),
  },
  {
    name: "agent-hangs",
    summary: "the node's agent takes questions and never answers",
    seconds: SECONDS,
    survives: true,
    begin: nodeMood("hangs"),
    end: nodeMood("answers"),
  },
];
