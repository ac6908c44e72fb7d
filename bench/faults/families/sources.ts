import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { replaceFile, workloadsText } from "../../stage/application.ts";

const SECONDS = 8;
const GROWS_WITHIN = 9;
const UNTIL_NOTICED_MS = 5_000;

export const SOURCE_FAULTS: readonly Fault[] = [
  {
    name: "optional-source-down",
    summary: "a Jaeger beside OTLP does not answer; then users wait 2.5 times the objective",
    stage: "jaeger",
    seconds: 12,
    // A window is read when the source's grace is over.
    growsWithin: GROWS_WITHIN + 1,
    survives: true,
    begin: async ({ jaeger }) => {
      if (jaeger !== undefined) jaeger.isDown = true;
      await delay(UNTIL_NOTICED_MS);
    },
    end: async ({ jaeger }) => {
      if (jaeger !== undefined) jaeger.isDown = false;
    },
  },
  {
    name: "service-silent",
    summary: "the spans of one service stay away, the others' go on and are calm",
    stage: "spare",
    seconds: 16,
    judged: ["geo"],
    survives: true,
    begin: async ({ load }) => {
      load.silent.add("geo");
      load.slowness = 1;
    },
    end: async ({ load }) => {
      load.silent.clear();
      load.slowness = 1.35;
    },
  },
  {
    name: "traces-stop",
    summary: "no span arrives from anybody",
    seconds: SECONDS,
    survives: true,
    begin: async ({ load }) => {
      load.isOn = false;
    },
    end: async ({ load }) => {
      load.isOn = true;
    },
  },
  {
    name: "workloads-garbage",
    summary: "the list of workloads is half a document",
    seconds: SECONDS,
    survives: true,
    begin: async (stage) => {
      await replaceFile(stage.workloads, workloadsText(stage.services).slice(0, 400));
    },
    end: async (stage) => replaceFile(stage.workloads, workloadsText(stage.services)),
  },
];
