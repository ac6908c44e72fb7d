import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../build/run.ts";
import { MANIFESTS } from "../programs.ts";

/** What of KEDA's own manifests is applied: all but the admission webhooks. */
const PARTS = ["crd", "general", "rbac", "manager", "metrics-server", "service_account"];

/** Images that were built here, and requests and a first look that suit a small node. */
const patches = (program: string): object[] => [
  { op: "replace", path: "/spec/template/spec/containers/0/image", value: `localhost/${program}:1` },
  { op: "replace", path: "/spec/template/spec/containers/0/command", value: [`/${program}`] },
  { op: "replace", path: "/spec/template/spec/containers/0/imagePullPolicy", value: "Never" },
  { op: "replace", path: "/spec/template/spec/containers/0/readinessProbe/initialDelaySeconds", value: 1 },
  {
    op: "replace",
    path: "/spec/template/spec/containers/0/resources/requests",
    value: { cpu: "20m", memory: "64Mi" },
  },
];

/** KEDA's release as objects to apply, `kubectl apply --server-side -k`. @returns the folder */
export async function writeKedaManifests(programs: string, folder: string): Promise<string> {
  const made = join(folder, "keda");
  await run("cp", ["-r", "--no-preserve=mode", join(programs, MANIFESTS), made], {});
  const patch = (name: string, program: string): object => ({
    target: { kind: "Deployment", name },
    patch: JSON.stringify(patches(program)),
  });
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: PARTS,
    patches: [patch("keda-operator", "keda-operator"), patch("keda-metrics-apiserver", "keda-adapter")],
  };
  await writeFile(join(made, "kustomization.yaml"), JSON.stringify(kustomization));
  return made;
}
