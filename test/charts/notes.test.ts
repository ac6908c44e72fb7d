import { describe, expect, it } from "vitest";
import { at, helm, objectsOf, template, valuesOf } from "./helm.ts";
import { notesOf } from "./notes.ts";

const set = (...values: readonly string[]): string[] => values.flatMap((value) => ["--set", value]);

const EXISTING = ["application.existing=mine", "watchNamespaces={shop}"];

/** Namespace of the ScaledObject that the notes print, and the line that names it. */
function scaledObjectIn(notes: string): { readonly namespace: unknown; readonly line: string } {
  const [, manifest = ""] =
    /<<'EOF'\n( +apiVersion: keda\.sh\/v1alpha1\n +kind: ScaledObject\n[\s\S]*?)\n +EOF/.exec(notes) ?? [];
  const [object] = objectsOf(manifest);
  return {
    namespace: at(object, "metadata", "namespace"),
    line: /^ +namespace: (.*)$/m.exec(manifest)?.[1] ?? "",
  };
}

describe.skipIf(helm === undefined)("the notes of an installation", () => {
  it.each<[string, string[], string]>([
    ["the chart's values for several namespaces", ["--values", valuesOf("namespaces")], "NAMESPACE"],
    ["all namespaces", set("application.from=Namespaces", "watchNamespaces={*}"), "NAMESPACE"],
    ["one namespace", set("application.from=Namespaces", "watchNamespaces={shop}"), "shop"],
    ["the release's namespace", set("application.from=Namespaces"), "tradewind"],
    [
      "an existing ConfigMap and two namespaces",
      set("application.existing=mine", "watchNamespaces={shop,bank}"),
      "NAMESPACE",
    ],
    [
      "an existing ConfigMap and all namespaces",
      set("application.existing=mine", "watchNamespaces={*}"),
      "NAMESPACE",
    ],
    ["an existing ConfigMap and one namespace", set(...EXISTING), "shop"],
    [
      "an existing Application",
      set("application.from=Resource", "application.existing=shop/hotel", "watchNamespaces={bank}"),
      "shop",
    ],
    [
      "an application of the chart's own",
      ["--values", valuesOf("observe"), ...set("watchNamespaces={bank}")],
      "shop",
    ],
  ])(
    "name for the ScaledObject the application's namespace, or a placeholder where it is not known: %s",
    async (_what, flags, namespace) => {
      const found = scaledObjectIn(await notesOf(...flags));
      expect(found.namespace).toBe(namespace);
      expect(found.line.includes("# the application's")).toBe(namespace === "NAMESPACE");
    },
  );

  it.each([
    ["1.35.0", "act", "auto", "move in place where an application acts"],
    ["1.35.0", "observe", "auto", 'are recommended, and moved in place once the mode is "act"'],
    ["1.32.4", "act", "auto", "Kubernetes v1.32.4 cannot resize in place"],
  ])("say what moves in Kubernetes %s where the mode is %s", async (version, mode, enabled, said) => {
    const flags = set(`application.spec.mode=${mode}`, `scaler.inPlaceResize.enabled=${enabled}`);
    expect(await notesOf("--values", valuesOf("minimal"), "--kube-version", version, ...flags)).toContain(
      said,
    );
  });

  it.each<[string, string[]]>([
    ["Deployment", []],
    ["StatefulSet", ["scaler.persistence.enabled=true"]],
  ])("of an existing ConfigMap name the command that restarts the %s after an edit", async (kind, values) => {
    const flags = set(...EXISTING, ...values);
    const [, reference = ""] =
      /kubectl --namespace tradewind rollout restart (\S+)/.exec(await notesOf(...flags)) ?? [];
    const { stdout } = await template(...flags);
    const names = objectsOf(stdout).map((object) => `${object.kind}/${object.metadata.name}`.toLowerCase());
    expect(reference.startsWith(`${kind.toLowerCase()}/`)).toBe(true);
    expect(names).toContain(reference);
  });

  it.each<[string, string[]]>([
    [
      "an existing Application, which is followed",
      set("application.from=Resource", "application.existing=shop/hotel"),
    ],
    ["Applications of namespaces, which are followed", ["--values", valuesOf("namespaces")]],
    ["an application of the values, of which an upgrade renews the pods", ["--values", valuesOf("minimal")]],
  ])("ask for no restart after an edit of %s", async (_what, flags) => {
    expect(await notesOf(...flags)).not.toContain("rollout restart");
  });
});
