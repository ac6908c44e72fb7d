import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LabelSelector, selects } from "@tradewind/kubernetes/objects/label-selector.ts";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { at, CASES, CHART, find, GOLDEN, helm, KUBERNETES } from "./helm.ts";
import { render, runHelm, template, valuesOf } from "./helm.ts";
import { QUICKSTART_VALUES } from "./quickstart.ts";

/** Long files of their own, with tests of their own, are left out of the golden renders. */
const shortened = (yaml: string): string =>
  yaml
    .replaceAll(/^( {2}[a-z-]+\.json: ).*$/gm, "$1(dashboard)")
    .replaceAll(/^( {2}(?:secret|ca\.crt|tls\.crt|tls\.key): )[A-Za-z0-9+/=]{64,}$/gm, "$1(random)")
    .replaceAll(/^( {4}tradewind\.dev\/renew-after: )"\d+"$/gm, "$1(time)")
    .replaceAll(/^(kind: PrometheusRule\n[\s\S]*?\n {2}groups:\n)[\s\S]*?(?=\n---\n)/gm, "$1    (rules)");

describe.skipIf(helm === undefined)("the chart", () => {
  it("passes helm lint --strict with every set of values", { timeout: 60_000 }, async () => {
    const files = CASES.flatMap((name) => [valuesOf(name)]);
    for (const values of [undefined, ...files]) {
      const given = values === undefined ? [] : ["--values", values];
      const { ok, stdout, stderr } = await runHelm(
        "lint",
        "--strict",
        "--kube-version",
        "1.34.1",
        CHART,
        ...given,
      );
      expect(ok, `${values ?? "no values"}: ${stdout}${stderr}`).toBe(true);
    }
  });

  it.each(CASES)("renders ci/%s-values.yaml as the golden file says", async (name) => {
    const { ok, stdout, stderr } = await template("--values", valuesOf(name));
    expect(ok, `helm: ${stderr}`).toBe(true);
    const golden = join(GOLDEN, `${name}.yaml`);
    if (process.env["UPDATE_GOLDEN"] === "1") {
      mkdirSync(GOLDEN, { recursive: true });
      writeFileSync(golden, shortened(stdout));
    }
    expect(existsSync(golden), `${golden} is missing; run with UPDATE_GOLDEN=1`).toBe(true);
    expect(shortened(stdout)).toBe(readFileSync(golden, "utf8"));
  });

  it("renders the values of the quickstart", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tradewind-quickstart-"));
    try {
      const values = join(directory, "tradewind.yaml");
      writeFileSync(values, QUICKSTART_VALUES);
      const { ok, stdout, stderr } = await template("--values", values);
      expect(ok, `helm: ${stderr}`).toBe(true);
      expect(stdout).toContain("--workloads=kubernetes:shop");
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it.each([
    ...CASES.map((name) => [name, [] as string[]] as const),
    ["minimal", ["agent.podNames.enabled=false"]] as const,
    ["secured", ["agent.podNames.enabled=false"]] as const,
  ])("%s with %j: the exporter asks agents only where they know pods by name", async (name, set) => {
    const objects = await render(name, ...set.flatMap((value) => ["--set", value]));
    const argsOf = (component: string, container: string): string[] => {
      const workload = objects.find(
        ({ kind, metadata }) =>
          ["DaemonSet", "Deployment", "StatefulSet"].includes(kind) &&
          metadata.name === `tradewind-${component}`,
      );
      const containers = (at(workload, "spec", "template", "spec", "containers") ?? []) as {
        name: string;
        args: string[];
      }[];
      return containers.find(({ name: each }) => each === container)?.args ?? [];
    };
    const tell = argsOf("agent", "agent").some((arg) => arg === "--kubernetes=auto");
    const plans = argsOf("scaler", "predictor").length > 0;
    const asks = argsOf("scaler", "exporter").some((arg) => arg.startsWith("--agents"));
    expect(asks).toBe(tell && plans);
    expect(tell).toBe(set.length === 0 && name !== "no-agent");
  });

  it("renders for the oldest Kubernetes it claims to support", async () => {
    const { ok, stdout, stderr } = await template("--kube-version", "1.27.0", "--values", valuesOf("full"));
    expect(ok, `helm: ${stderr}`).toBe(true);
    expect(stdout).not.toContain("preStop");
  });

  it("renders under the condition by which a chart that it is a part of switches it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tradewind-parent-"));
    try {
      mkdirSync(join(directory, "charts"));
      cpSync(CHART, join(directory, "charts", "tradewind"), { recursive: true });
      const dependencies = [{ name: "tradewind", version: "*", condition: "tradewind.enabled" }];
      const chart = { apiVersion: "v2", name: "shop", version: "1.2.3", dependencies };
      writeFileSync(join(directory, "Chart.yaml"), JSON.stringify(chart));
      const own = { ...(parse(readFileSync(valuesOf("minimal"), "utf8")) as object), enabled: true };
      writeFileSync(
        join(directory, "values.yaml"),
        JSON.stringify({ tradewind: own, global: { team: "a" } }),
      );
      const { ok, stdout, stderr } = await runHelm(
        "template",
        "shop",
        directory,
        "--kube-version",
        KUBERNETES,
      );
      expect(ok, `helm: ${stderr}`).toBe(true);
      expect(stdout).toContain("kind: DaemonSet");
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it.each([
    [{ "kubernetes.io/os": "linux" }, true],
    [{ "kubernetes.io/os": "linux", "eks.amazonaws.com/compute-type": "auto", type: "spot" }, true],
    [{ "kubernetes.io/os": "linux", "eks.amazonaws.com/compute-type": "fargate" }, false],
    [{ "kubernetes.io/os": "linux", type: "virtual-kubelet" }, false],
  ])("puts an agent on a node with labels %j: %s", async (labels, isPut) => {
    const pod = at(find(await render("default"), "DaemonSet", "tradewind-agent"), "spec", "template", "spec");
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    const terms = at(pod, "affinity", "nodeAffinity", required, "nodeSelectorTerms") as unknown[];
    const selectors = [{ matchLabels: at(pod, "nodeSelector") }, ...terms];
    expect(selectors.every((each) => selects(LabelSelector.parse(each), labels))).toBe(isPut);
  });

  it("lets predictor and scaler read further kinds with /scale, and no more of them", async () => {
    const kind = "rbac.workloadKinds[0].apiGroup=apps.kruise.io,rbac.workloadKinds[0].resource=clonesets";
    const objects = await render("full", "--set", kind);
    const rules = objects
      .filter((each) => each.kind === "Role" || each.kind === "ClusterRole")
      .flatMap((each) => at(each, "rules") as { apiGroups: string[]; resources: string[]; verbs: string[] }[])
      .filter(({ apiGroups }) => apiGroups.includes("apps.kruise.io"));
    const texts = rules.map(({ resources, verbs }) => `${resources.join()} ${verbs.join()}`);
    expect(new Set(texts)).toEqual(new Set(["clonesets list,watch", "clonesets/scale get"]));
    const { ok } = await template("--set", kind.replace("clonesets", "*"));
    expect(ok).toBe(false);
  });

  it.each([
    ["1.35.0", "act", "auto", true],
    ["1.33.0", "act", "auto", true],
    // As managed clusters name it.
    ["v1.33.5-gke.1201000", "act", "auto", true],
    ["1.32.4", "act", "auto", false],
    ["1.32.4", "act", "true", true],
    ["1.35.0", "act", "false", false],
    ["1.35.0", "recommend", "auto", false],
    ["1.35.0", "observe", "auto", false],
  ])("resizes in Kubernetes %s in mode %s with %s: %s", async (version, mode, enabled, resizes) => {
    const flags = ["--set", `application.spec.mode=${mode},scaler.inPlaceResize.enabled=${enabled}`];
    const objects = await render("minimal", "--kube-version", version, ...flags);
    const scaler = find(objects, "Deployment", "tradewind-scaler");
    const [{ args }] = at(scaler, "spec", "template", "spec", "containers") as [{ args: string[] }];
    const data = JSON.stringify(find(objects, "ConfigMap", "tradewind-application"));
    const mayResize = JSON.stringify(objects).includes("pods/resize");
    expect([args.includes("--in-place-resize"), data.includes("resize: limits"), mayResize]).toEqual([
      resizes,
      resizes,
      resizes,
    ]);
  });

  it("resizes for an Application that is written elsewhere, whose mode is not known here", async () => {
    const flags = "application.from=Resource,application.existing=shop/hotel";
    const objects = await render("default", "--set", flags);
    const scaler = find(objects, "Deployment", "tradewind-scaler");
    const containers = at(scaler, "spec", "template", "spec", "containers") as { args: string[] }[];
    expect(containers.flatMap(({ args }) => args)).toContain("--in-place-resize");
  });

  it("leaves sizes alone where the application says so", async () => {
    const flags = "application.spec.mode=act,application.spec.resize=off";
    const objects = JSON.stringify(await render("minimal", "--set", flags));
    expect(objects).not.toContain("--in-place-resize");
    expect(objects).not.toContain("pods/resize");
  });

  it("refuses an older one", async () => {
    const { ok, stderr } = await template("--kube-version", "1.26.9");
    expect(ok).toBe(false);
    expect(stderr).toContain("kubeVersion");
  });
});
