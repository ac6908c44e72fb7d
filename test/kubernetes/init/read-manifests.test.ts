import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";

const read = async (text: string) => readManifests(["-"], "shop", async () => text);

const deploymentYaml = (name: string, replicas = 2): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: ${replicas}
  template: { spec: { containers: [{ name: main, image: "shop/main:1" }] } }
`;

describe("readManifests", () => {
  it.each([
    ["an alias without its anchor", "a: *b\n"],
    [
      "an alias that grows without end",
      `${Array.from({ length: 9 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i === 0 ? 0 : 9)}x]`).join("\n")}\n`,
    ],
    ["a text that nests too deep to be read", "[".repeat(20_000)],
    ["what is no YAML", "a: b: c\n"],
  ])("passes over %s with a note that names its file and line, and reads the rest", async (_what, text) => {
    const { found, notes } = await read(`${text}\n---\n${deploymentYaml("web")}`);
    expect(notes).toEqual([
      expect.stringMatching(/^-: the document at line 1 cannot be read and is passed over: /),
    ]);
    expect(found.workloads.map(({ name }) => name)).toEqual(["web"]);
  });

  it("looks at the only namespace that workloads name where nobody gave one", async () => {
    const named = (name: string, namespace: string): string =>
      deploymentYaml(name).replace("metadata:", `metadata:\n  namespace: ${namespace}`);
    const readAll = async (...texts: string[]) =>
      readManifests(["-"], undefined, async () => Promise.resolve(texts.join("---\n")));
    const one = await readAll(named("web", "shop"), named("cart", "shop"));
    expect(one).toMatchObject({ namespace: "shop", notes: [] });
    expect(one.found.workloads).toHaveLength(2);
    const two = await readAll(named("web", "shop"), named("cart", "other"));
    expect(two.namespace).toBe("default");
    expect(two.notes).toHaveLength(2);
    expect(await readAll(named("web", "shop"), deploymentYaml("cart"))).toMatchObject({
      namespace: "default",
      notes: [expect.stringMatching(/1 workload of namespace 'shop' is passed over/)],
    });
  });

  it("names a file that is not there", async () => {
    await expect(readManifests(["/nowhere/web.yaml"], "shop", async () => "")).rejects.toMatchObject({
      code: "invalid-manifest",
    });
  });

  it("reads merge keys, anchors, keys that stand twice, and white space at the ends of lines, as kubectl does", async () => {
    const yaml = `apiVersion: apps/v1\r
kind: Deployment\t
metadata:
  name: web
  labels: &labels { app: web, tier: front }
spec:
  replicas: 1
  replicas: 3
  template:
    metadata:
      labels: { <<: *labels, version: v1 }
    spec:
      containers:
        - name: web
          image: shop/web:1
          resources: &sizes { requests: { cpu: 200m } }
        - name: side
          image: shop/side:1
          resources: { <<: *sizes }
`;
    const { found, notes } = await read(`\uFEFF# a comment\n---\n${yaml}`);
    expect(notes).toEqual([]);
    expect(found.workloads).toMatchObject([
      {
        name: "web",
        replicasWanted: 3,
        podLabels: { app: "web", tier: "front", version: "v1" },
        containers: [{ name: "web" }, { name: "side", resources: { requests: { cpuCores: 0.2 } } }],
      },
    ]);
  });

  it("reads the items of every kind of list, which the API writes without their kind", async () => {
    const item = { metadata: { name: "web" }, spec: { template: { spec: { containers: [] } } } };
    const { found } = await read(
      JSON.stringify({ kind: "List", items: [{ kind: "DeploymentList", items: [item] }] }, null, "\t"),
    );
    expect(found.workloads.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["Deployment web"]);
  });

  it("takes the last of two objects of one kind and name", async () => {
    const { found } = await read(
      `${deploymentYaml("web", 1)}---\n${deploymentYaml("cart")}---\n${deploymentYaml("web", 4)}`,
    );
    expect(found.workloads.map(({ name, replicasWanted }) => [name, replicasWanted])).toEqual([
      ["web", 4],
      ["cart", 2],
    ]);
  });

  it("passes over Helm templates with one note that says how to render them, wherever the braces stand", async () => {
    const template = [
      "{{- if .Values.web.enabled }}\nkind: Deployment\n{{- end }}\n",
      "kind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n",
      deploymentYaml("cart").replace("replicas: 2", "replicas: {{ .Values.replicas }}"),
    ].join("---\n");
    const { found, notes } = await read(`${template}---\n${deploymentYaml("web")}`);
    expect(found.workloads.map(({ name }) => name)).toEqual(["web"]);
    expect(notes).toEqual([expect.stringMatching(/holds a Helm template.*'helm template'.*--manifests -/)]);
  });

  it("says in which other namespaces there are workloads", async () => {
    const { notes } = await read(deploymentYaml("web").replace("name: web", "name: web\n  namespace: bank"));
    expect(notes).toEqual(["1 workload of namespace 'bank' is passed over: --namespace bank looks there"]);
  });

  it.each([
    ["printed at length", (all: readonly object[]) => all.map((each) => JSON.stringify(each, null, 2))],
    ["a line each", (all: readonly object[]) => all.map((each) => JSON.stringify(each))],
  ])("reads JSON objects one after the other, %s", async (_how, print) => {
    const objects = ["web", "cart"].map((name) => ({
      kind: "Deployment",
      metadata: { name, annotations: { text: "{\n}\n{" } },
      spec: { template: { spec: { containers: [] } } },
    }));
    const { found, notes } = await read(`${print(objects).join("\n")}\n`);
    expect(notes).toEqual([]);
    expect(found.workloads.map(({ name }) => name)).toEqual(["web", "cart"]);
  });

  it("passes over what a Deployment has made, as kubectl get all shows it", async () => {
    const ownerReferences = [{ kind: "Deployment", name: "web", uid: "1", controller: true }];
    const template = { spec: { containers: [] } };
    const { found } = await read(
      JSON.stringify({
        kind: "List",
        items: [
          { kind: "ReplicaSet", metadata: { name: "web-5d", ownerReferences }, spec: { template } },
          { kind: "ReplicaSet", metadata: { name: "alone" }, spec: { template } },
        ],
      }),
    );
    expect(found.passedOver.map(({ name }) => name)).toEqual(["alone"]);
  });

  it.each(["kustomization.yaml", "kustomization.yml", "Kustomization"])(
    "leaves what %s merges into other objects out, and says how to put them together",
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), "tradewind-init-"));
      onTestFinished(async () => rm(folder, { recursive: true, force: true }));
      const overlay = `resources: [../../base]
patches: [{ path: more.yaml }, { patch: "- op: remove", target: { kind: Service } }]
patchesStrategicMerge: [./image.yaml]
`;
      const patch = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec: { replicas: 9, template: { spec: { containers: [{ name: main }] } } }
`;
      const files = {
        "base/web.yaml": deploymentYaml("web"),
        [`base/${name}`]: "resources: [web.yaml]\n",
        [`overlays/prod/${name}`]: overlay,
        "overlays/prod/more.yaml": patch,
        "overlays/prod/image.yaml": patch,
      };
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
      const { found, notes } = await readManifests([folder], "shop", async () => "");
      expect(found.workloads).toMatchObject([{ replicasWanted: 2, templates: [{ image: "shop/main:1" }] }]);
      const prod = join(folder, "overlays/prod");
      expect(notes).toEqual([
        expect.stringContaining(`kubectl kustomize ${join(folder, "base")}`),
        expect.stringContaining(`kubectl kustomize ${prod}`),
      ]);
    },
  );
});
