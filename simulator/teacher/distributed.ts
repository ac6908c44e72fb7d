import { studentParameters } from "@tradewind/core/contract/students.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { Student } from "@tradewind/core/students/student.ts";
import { SHIPPED_STUDENTS } from "@tradewind/predictor/learn/students/shipped-students.ts";
import { CONTENDERS } from "../contenders/contenders.ts";
import { UNTUNED } from "../contenders/contender.ts";
import type { Contender, Parameters } from "../contenders/contender.ts";
import { FIRM_STAR } from "../contenders/firm.ts";
import { HAB } from "../contenders/hab.ts";
import { OTHER_STEPS, startOurs, TOLD_OBJECTIVES } from "../contenders/ours/ours.ts";
import { agentContender } from "./episode.ts";
import type { Checkpoint } from "./td3/checkpoint.ts";
import { actionsOf } from "./td3/td3.ts";

/** DRPC's distributed stage: the predictor plans while the run is warmed up, and students decide from then on. */
export const STUDENTS_ALONE: Contender = {
  name: "tradewind-students",
  about:
    "Tradewind, whose predictor is gone after the warm-up: the students of the release decide, within what a silence allows.",
  ...UNTUNED,
  start: (setting) => {
    const { seconds, warmUpSeconds } = setting.plant;
    const student = {
      student: new Student(studentParameters(SHIPPED_STUDENTS.general)),
      modelHash: contentHash(SHIPPED_STUDENTS),
    };
    const processDown = [{ startSeconds: warmUpSeconds, endSeconds: seconds }];
    return startOurs(
      { ...setting, processDown },
      { choice: "auto", silence: { drive: "students", student } },
    );
  },
};

/** The actor of a shared teacher as parameters of a run: layers, and its values as 32-bit floats in base64. */
export function teacherParameters({ shape, td3 }: Pick<Checkpoint, "shape" | "td3">): Parameters {
  const { buffer, byteLength, byteOffset } = td3.actor.values;
  return {
    layers: shape.layers.join("-"),
    actor: Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
  };
}

/** DRPC's centralised stage: a teacher decides on replicas of all deployments. Its parameters are those of {@link teacherParameters}. */
export const TEACHER: Contender = {
  name: "td3-teacher",
  about:
    "DRPC's teacher: TD3 over all deployments, Alg. 2, with the reactive need as floor; moves replicas only.",
  defaults: { layers: "", actor: "" },
  grid: [],
  start: (setting, parameters) => {
    const bytes = Buffer.from(String(parameters["actor"]), "base64");
    const values = Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
    const layers = String(parameters["layers"]).split("-").map(Number);
    const shape = { kind: "shared", layers } as const;
    return agentContender((state) => actionsOf(shape, values, state)).start(
      { ...setting, actuators: "replicas" },
      {},
    );
  },
};

/** All that tables of papers compare. */
export const PAPER_CONTENDERS: readonly Contender[] = [
  ...CONTENDERS,
  FIRM_STAR,
  HAB,
  OTHER_STEPS,
  TOLD_OBJECTIVES,
  STUDENTS_ALONE,
  TEACHER,
];
