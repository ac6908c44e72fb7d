import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { run } from "../build/run.ts";
import { ROOT } from "../node/images/buildah.ts";
import { BOUNDS, scaledComponents } from "./application.ts";
import type { Contender, JudgedApplication } from "./application.ts";

export const NAMESPACE = "tradewind";
const CHART = join(ROOT, "charts", "tradewind");

const Application = z.looseObject({
  spec: z.looseObject({ services: z.array(z.looseObject({ name: z.string() })) }),
});
const ScaledObject = z.looseObject({ spec: z.looseObject({}) });

/** What `tradewind init` writes for the namespace of an application, with the bounds of this comparison. */
export interface Written {
  /** `application.spec` of the chart's values, without a mode. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly scaledObjects: object;
}

/** Runs it. @param folder for its files, which must not exist */
export async function init(
  application: JudgedApplication,
  kubeconfig: string,
  folder: string,
): Promise<Written> {
  const { entry, name, objectiveSeconds } = application;
  // No Service leads to whoever takes its work from a queue.
  const workers = scaledComponents(application).filter(({ port }) => port === undefined);
  const what = [`--namespace=${name}`, `--entry=${entry}`, `--objective=${1_000 * objectiveSeconds}ms`];
  const command = ["init", ...what, `--kubeconfig=${kubeconfig}`, "--no-vpa", "--output", folder];
  if (workers.length > 0) command.push(`--include=${workers.map((each) => each.name).join(",")}`);
  await run(process.execPath, [join(ROOT, "bin", "tradewind.mjs"), ...command], {});
  const read = async (file: string): Promise<string> => readFile(join(folder, file), "utf8");
  return bound(name, await read("application.yaml"), await read("scaled-objects.yaml"));
}

/** Sets the bounds, which `tradewind init` only guesses. */
export function bound(name: string, application: string, scaledObjects: string): Written {
  const { spec } = Application.parse(parse(application));
  const services = spec.services.map((service) => ({ ...service, ...BOUNDS }));
  const items = parseAllDocuments(scaledObjects).map((document) => {
    const object = ScaledObject.parse(document.toJS());
    const bounds = { minReplicaCount: BOUNDS.minReplicas, maxReplicaCount: BOUNDS.maxReplicas };
    return { ...object, spec: { ...object.spec, ...bounds } };
  });
  return {
    spec: { ...spec, name, namespace: name, services },
    scaledObjects: { apiVersion: "v1", kind: "List", items },
  };
}

/** Values of the chart for an application, with requests that suit a small node. */
export const chartValues = (
  { sources = {} }: Pick<JudgedApplication, "sources">,
  spec: Written["spec"],
  contender: Contender,
): object => ({
  global: { image: { registry: "localhost" } },
  application: {
    // `init` counts on sizes where the cluster can move them.
    spec: {
      ...spec,
      mode: contender === "hpa-60" ? "observe" : "act",
      resize: contender === "tradewind-sizes" ? "limits" : "off",
    },
    sources,
  },
  scaler: { minReadySeconds: 5, resources: { requests: { cpu: "20m" } } },
  predictor: { resources: { requests: { cpu: "50m" } } },
});

/** The chart as a release of its own that knows nothing yet. */
export class Release {
  readonly #helm: string;
  readonly #kubeconfig: string;

  constructor(helm: string, kubeconfig: string) {
    this.#helm = helm;
    this.#kubeconfig = kubeconfig;
  }

  async #run(...args: readonly string[]): Promise<void> {
    const place = [`--namespace=${NAMESPACE}`, `--kubeconfig=${this.#kubeconfig}`];
    await run(this.#helm, [...args, ...place], {});
  }

  async install(valuesFile: string): Promise<void> {
    const options = ["--create-namespace", `--values=${valuesFile}`, "--wait", "--timeout=8m"];
    await this.#run("install", "tradewind", CHART, ...options);
  }

  async remove(): Promise<void> {
    await this.#run("uninstall", "tradewind", "--ignore-not-found");
  }
}
