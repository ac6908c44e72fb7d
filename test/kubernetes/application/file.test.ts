import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-config-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function read(text: string): Promise<unknown> {
  const path = join(directory, "app.yaml");
  await writeFile(path, text);
  return readApplication(path).catch((error: unknown) => describeError(error).replaceAll(directory, ""));
}

const RESOURCE = `apiVersion: tradewind.dev/v1alpha1
kind: Application
metadata: { name: shop, namespace: market }
spec:
  entry: frontend
  objective: { milliseconds: 250 }
`;
const SCALED_OBJECT =
  "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: { name: cart }\nspec: {}\n";

describe("a configuration that is an Application as it is applied to the cluster", () => {
  const application = {
    name: "shop",
    namespace: "market",
    entry: "frontend",
    objective: { milliseconds: 250 },
  };

  it.each([
    ["alone", RESOURCE],
    [
      "among other documents of a stream",
      `# init\n---\n${SCALED_OBJECT}---\n${RESOURCE}---\n${SCALED_OBJECT}---\n`,
    ],
  ])("is read %s", async (_where, text) => {
    expect(await read(text)).toMatchObject(application);
  });

  it.each([
    ["two Applications", `${RESOURCE}---\n${RESOURCE}`, "has 2 Applications among 2 documents"],
    ["no Application", SCALED_OBJECT, "has no Application among 1 documents"],
    ["two plain documents", "entry: a\n---\nentry: b\n", "has no Application among 2 documents"],
    ["broken YAML in another document", `${RESOURCE}---\na: [1`, "cannot be read as YAML or JSON"],
  ])("is refused with its file's name where there are %s", async (_what, text, problem) => {
    expect(await read(text)).toContain(problem);
    expect(await read(text)).toContain("/app.yaml");
  });
});

describe("the configuration", () => {
  it("needs no more than entry and objective, in YAML or JSON", async () => {
    const yaml = await read("entry: frontend\nobjective:\n  milliseconds: 250\n");
    expect(yaml).toMatchObject({
      name: "default",
      entry: "frontend",
      objective: { percentile: 0.95, milliseconds: 250 },
    });
    expect(await read('{"entry": "frontend", "objective": {"milliseconds": 250}}')).toEqual(yaml);
  });

  it("says entries and objectives as lists, and reads what it made of them as the same", async () => {
    const listed = await read(
      "entries: [frontend, api]\nobjectives: [{milliseconds: 250, percentile: 0.9}, {route: GET /api/*, milliseconds: 50}]\n",
    );
    expect(listed).toMatchObject({
      entry: "frontend",
      entries: ["frontend", "api"],
      objective: { percentile: 0.9, milliseconds: 250, windowSeconds: 60 },
      objectives: [{ route: "GET /api/*", milliseconds: 50 }],
    });
    expect(await read(JSON.stringify(listed))).toEqual(listed);
    expect(await read("entry: a\nentries: [b, a]\nobjective: {milliseconds: 9}")).toMatchObject({
      entry: "a",
      entries: ["a", "b"],
    });
  });

  it.each([
    ["entry: f\nobjective: {milliseconds: 9}\nreplicas: 3", 'Unrecognized key: "replicas"'],
    ["entry: f\nobjective: {milliseconds: 9, percentil: 0.9}", 'objective: Unrecognized key: "percentil"'],
    ["entry: f\nobjective: {milliseconds: -1}", "objective.milliseconds: "],
    ["objective: {milliseconds: 9}", "entry: "],
    ["entry: [", "cannot be read as YAML or JSON"],
    ...[
      ["[]", "objective: is missing: write objective: { milliseconds: 250 }"],
      [
        "[{milliseconds: 9}, {milliseconds: 8}]",
        "objectives: the objective of all other routes is given 2 times",
      ],
      ["[{milliseconds: 9}, {route: GET /}]", "objectives.1: needs one of milliseconds: 250, exclude: true"],
      ["[{milliseconds: 9}, {route: GET /, exclude: true, stream: true}]", "objectives.1: needs one of"],
      [
        "[{milliseconds: 9}, {exclude: true}]",
        "objectives.1: exclude and stream are of a route: add route: GET /api/*",
      ],
      ["[{milliseconds: 9, weight: 2}]", "objectives.0: weight is of a route: add route: GET /api/*"],
      [
        "[{milliseconds: 9}, {route: a, exclude: true, weight: 2}]",
        "objectives.1: percentile and weight go with milliseconds: leave them out",
      ],
      [
        "[{milliseconds: 9}, {route: a, exclude: true}, {route: a, stream: true}]",
        "objectives.2: route 'a' has objectives.1 already: keep one of them",
      ],
      [
        "[{milliseconds: 250ms}]",
        "objectives.0.milliseconds: must be a number of milliseconds without a unit: 250",
      ],
      ["[{milliseconds: 9, percentile: 95}]", "objectives.0.percentile: must be below 1: 0.95 is p95"],
      ["[{milliseconds: 9}, {route: a, exclude: yes please}]", "objectives.1.exclude: "],
    ].map(([objectives = "", problem = ""]): [string, string] => [
      `entry: f\nobjectives: ${objectives}`,
      problem,
    ]),
    [
      "entry: f\nobjective: {milliseconds: 250, percentile: 95}",
      "objective.percentile: must be below 1: 0.95 is p95",
    ],
    [
      "entry: f\nobjective: {milliseconds: 9}\nobjectives: [{milliseconds: 9}]",
      "objectives: the objective of all other routes is given 2 times (objective, and items without route): keep one",
    ],
    [
      "entry: f\nobjective: {milliseconds: 9}\nservices: [{name: a}, {name: a}]",
      "service 'a' is listed twice",
    ],
    [
      "entry: f\nobjective: {milliseconds: 9}\nservices: [{name: a, minReplicas: 5, maxReplicas: 2}]",
      "service 'a' has minReplicas 5 above maxReplicas 2",
    ],
    [
      "entry: f\nobjective: {milliseconds: 9}\nbudget: {pods: 2}\nservices: [{name: a, minReplicas: 3}]",
      "budget.pods is 2, but the services' minReplicas need 3",
    ],
    ...[
      ["{name: a, from: 0 8 * * *, until: 0 9 * * *}", "has neither a floor nor a ceiling"],
      [
        "{name: a, from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 5}, ceiling: {replicas: 4}}",
        "has floor.replicas 5 above ceiling.replicas 4",
      ],
      [
        "{name: a, from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 13}}",
        "has floor.replicas 13 above maxReplicas 12 of 's'",
      ],
      [
        "{name: a, from: 0 8 * * *, until: 0 9 * * *, ceiling: {replicas: 1}}",
        "has ceiling.replicas 1 below minReplicas 2 of 's'",
      ],
      [
        "{name: a, from: 0 25 * * *, until: 0 9 * * *, floor: {replicas: 3}}",
        "from '0 25 * * *' is no cron pattern of five fields",
      ],
      ["{name: a, from: 0 8 * * *, until: 0 9 31 2 *, floor: {replicas: 3}}", "'0 9 31 2 *' never happens"],
      ["{name: a, from: 0 8 * * *, until: 0 9 * * *, floor: {}}", "needs one of replicas and timesUsual"],
      [
        "{name: a, from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 3, timesUsual: 2}}",
        "needs one of replicas and timesUsual",
      ],
      [
        "{name: a, timeZone: Mars/X, from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 3}}",
        "timeZone 'Mars/X' is not known",
      ],
      [
        "{name: a, except: [2026-02-30], from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 3}}",
        "'2026-02-30', which is no date",
      ],
      [
        "{name: a, except: [2026-02-03/2026-02-01], from: 0 8 * * *, until: 0 9 * * *, floor: {replicas: 3}}",
        "ends before it begins",
      ],
    ].map(([calendar = "", words = ""]) => [
      `entry: f\nobjective: {milliseconds: 9}\nservices: [{name: s, minReplicas: 2, maxReplicas: 12}]\ncalendars: [${calendar}]`,
      words,
    ]),
  ])("that is wrong is refused in words: %j", async (text, words) => {
    expect(await read(text)).toContain(words);
    expect(await read(text)).toContain("app.yaml");
  });

  it("that is missing is named", async () => {
    await expect(readApplication("/nowhere/app.yaml")).rejects.toThrow("/nowhere/app.yaml");
  });
});
