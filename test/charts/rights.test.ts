import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import type { Account, Block, Scope } from "@tradewind/kubernetes/client/rights.ts";
import { describe, expect, it } from "vitest";
import { at, helm, objectsOf, render, templateAs, valuesOf } from "./helm.ts";
import type { KubernetesObject } from "./helm.ts";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Every single right of some rules, in words. */
const rightsOf = (rules: readonly Rule[]): Set<string> =>
  new Set(
    rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => `${verb} ${resource}.${group} ${resourceNames?.join(",") ?? ""}`.trim()),
        ),
      ),
    ),
  );

/** What the roles bound to an account allow, in one scope. */
function granted(objects: readonly KubernetesObject[], account: Account, scope: Scope): Set<string> {
  const bindings = objects.filter(
    (object) =>
      object.kind.endsWith("RoleBinding") && at(object, "subjects", 0, "name") === `tradewind-${account}`,
  );
  const roles = bindings.map((binding) => ({
    kind: at(binding, "roleRef", "kind"),
    name: at(binding, "roleRef", "name"),
    namespace: binding.metadata.namespace,
  }));
  const rules = objects
    .filter(({ kind, metadata }) =>
      roles.some(
        (role) => role.kind === kind && role.name === metadata.name && role.namespace === metadata.namespace,
      ),
    )
    .filter(({ kind, metadata }) => scopeOf(kind, metadata.name) === scope)
    .flatMap((object) => at(object, "rules") as Rule[]);
  return rightsOf(rules);
}

const scopeOf = (kind: string, name: string): Scope =>
  kind === "ClusterRole" ? "cluster" : name.endsWith("-leader") ? "own" : "watched";

describe.skipIf(helm === undefined)("the roles of the chart", () => {
  it.each<[string, string[], Account, Block[]]>([
    ["default", [], "scaler", []],
    ["default", [], "predictor", []],
    ["minimal", [], "scaler", []],
    ["minimal", [], "predictor", ["workloads", "nodes"]],
    ["minimal", ["rbac.nodes=false"], "predictor", ["workloads"]],
    ["minimal", [], "agent", ["podNames"]],
    ["minimal", ["agent.podNames.enabled=false"], "agent", []],
    ["minimal", ["application.from=Resource"], "predictor", ["workloads", "nodes", "application"]],
    ["minimal", ["application.from=Resource"], "scaler", ["workloads", "application", "leader"]],
    ["minimal", ["scaler.events.enabled=true"], "predictor", ["workloads", "nodes"]],
    ["minimal", ["scaler.events.enabled=true"], "scaler", ["workloads", "events", "leader"]],
    ["minimal", ["scaler.vpa.enabled=true"], "scaler", ["workloads", "vpa", "leader"]],
    ["minimal", ["scaler.inPlaceResize.enabled=true"], "scaler", ["workloads", "inPlaceResize", "leader"]],
  ])("%s with %j: allow the %s what it needs, and nothing else", async (name, set, account, blocks) => {
    const objects = await render(name, ...set.flatMap((value) => ["--set", value]));
    for (const scope of ["watched", "own", "cluster"] as const) {
      expect({ scope, rights: granted(objects, account, scope) }).toEqual({
        scope,
        rights: rightsOf(rulesFor(account, scope, blocks)),
      });
    }
  });

  it.each<[string, string[], string[]]>([
    ["resource", ["watchNamespaces={payments}"], ["payments", "shop"]],
    ["resource", ["watchNamespaces={shop,payments}"], ["payments", "shop"]],
    [
      "default",
      ["application.from=Resource,application.existing=shop/hotel,watchNamespaces={payments}"],
      ["payments", "shop"],
    ],
    [
      "default",
      ["application.from=Resource,application.existing=hotel,watchNamespaces={payments}"],
      ["payments", "tradewind"],
    ],
    ["observe", ["watchNamespaces={payments},scaler.inPlaceResize.enabled=true"], ["payments", "shop"]],
    ["no-agent", ["scaler.events.enabled=true"], ["default", "payments", "shop"]],
    ["namespaces", [], ["bank", "shop"]],
    ["default", ["application.existing=mine,watchNamespaces={shop},scaler.events.enabled=true"], ["shop"]],
  ])(
    "%s with %j: are in %j, the application's namespace among them where it is known, and the predictor watches the same",
    async (name, set, namespaces) => {
      const objects = await render(name, ...set.flatMap((value) => ["--set", value]));
      for (const account of ["predictor", "scaler"]) {
        for (const kind of ["Role", "RoleBinding"]) {
          const found = objects.filter(
            (each) => each.kind === kind && each.metadata.name === `tradewind-${account}`,
          );
          const places = found.map(({ metadata }) => String(metadata.namespace)).sort();
          expect({ account, kind, places }).toEqual({ account, kind, places: namespaces });
        }
      }
      const [, watched = ""] = /--workloads=kubernetes:([^"]+)"/.exec(JSON.stringify(objects)) ?? [];
      expect(watched.split(",").sort()).toEqual(namespaces);
    },
  );

  it("are on the Lease that `--lease` of the scalers names, which two releases in a namespace do not share", async () => {
    const leases: string[] = [];
    for (const release of ["tradewind", "second"]) {
      const { stdout } = await templateAs(release, "--values", valuesOf("resource"));
      const objects = objectsOf(stdout);
      const given = objects
        .flatMap(
          (object) => (at(object, "spec", "template", "spec", "containers") ?? []) as { args: string[] }[],
        )
        .flatMap(({ args }) => args.filter((arg) => arg.startsWith("--lease=")));
      const named = objects
        .flatMap((object) => (at(object, "rules") ?? []) as Rule[])
        .filter(({ resources }) => resources.includes("leases"))
        .flatMap(({ resourceNames = [] }) => resourceNames);
      expect(given).toEqual(named.map((name) => `--lease=${name}`));
      leases.push(...named);
    }
    expect(leases).toEqual(["tradewind-exporter", "second-tradewind-exporter"]);
  });

  it("are one ClusterRole when all namespaces are watched", async () => {
    const objects = await render("minimal", "--set", "watchNamespaces={*}");
    const needed = (["watched", "cluster"] as const).flatMap((scope) =>
      rulesFor("predictor", scope, ["workloads", "nodes"]),
    );
    expect(granted(objects, "predictor", "cluster")).toEqual(rightsOf(needed));
    expect(objects.filter(({ kind }) => kind === "Role")).toEqual([]);
  });
});
