import { describe, expect, it } from "vitest";
import { helm, template, valuesOf } from "./helm.ts";
import { namespaces, startLookupServer } from "./lookup-server.ts";

const SHOP = ["--set", "application.spec.namespace=shop"];

/** What Helm says of an installation into a cluster that has these namespaces, and nothing else. */
async function tryInstall(present: readonly string[], ...args: readonly string[]) {
  const cluster = await startLookupServer(namespaces(...present));
  const answer = await template("--kubeconfig", cluster.kubeconfig, "--dry-run=server", ...args);
  return { ...answer, calls: cluster.calls };
}

describe.skipIf(helm === undefined)("an installation into a cluster without a namespace it needs", () => {
  it("ends before anything is created, and names the namespace and the command that makes it", async () => {
    const { calls, ok, stderr } = await tryInstall(["kube-system"], "--values", valuesOf("minimal"), ...SHOP);
    expect(ok).toBe(false);
    expect(stderr).toContain("nothing was installed");
    expect(stderr).toContain("do not exist: shop.");
    expect(stderr).toContain("kubectl create namespace shop");
    expect(calls.filter((call) => !call.startsWith("GET "))).toEqual([]);
  });

  it.each([
    ["watched namespaces", ["--set", "watchNamespaces={shop,billing}", ...SHOP], "do not exist: billing."],
    [
      "the application's, which watchNamespaces leaves out",
      ["--set", "watchNamespaces={shop},application.spec.namespace=crm"],
      "do not exist: crm.",
    ],
    [
      "the Application's",
      ["--set", "application.from=Resource,watchNamespaces={*}", "--set", "application.spec.namespace=crm"],
      "do not exist: crm.",
    ],
    [
      "that of KEDA's certificate",
      ["--values", valuesOf("mtls-certmanager"), "--set", "application.spec.namespace=shop"],
      "do not exist: keda.",
    ],
    [
      "the dashboards'",
      ["--set", "metrics.dashboards.enabled=true,metrics.dashboards.namespace=grafana", ...SHOP],
      "do not exist: grafana.",
    ],
  ])("counts every namespace that an object is put into: %s", async (_what, args, message) => {
    const present = ["kube-system", "shop"];
    const { ok, stderr } = await tryInstall(present, "--values", valuesOf("minimal"), ...args);
    expect(ok).toBe(false);
    expect(stderr).toContain(message);
  });

  it("goes on when the namespace is there, also while that of the release is still to be made", async () => {
    const { ok, stderr, stdout } = await tryInstall(
      ["kube-system", "shop"],
      "--values",
      valuesOf("minimal"),
      ...SHOP,
    );
    expect({ ok, stderr }).toEqual({ ok: true, stderr: "" });
    expect(stdout).toContain("kind: RoleBinding");
  });

  it("asks for no namespace where checkNamespaces is false", async () => {
    const { calls, ok, stderr } = await tryInstall(
      ["kube-system"],
      "--values",
      valuesOf("minimal"),
      "--set",
      "checkNamespaces=false",
      ...SHOP,
    );
    expect({ ok, stderr }).toEqual({ ok: true, stderr: "" });
    expect(calls.filter((call) => call.includes("/namespaces/") && !call.includes("/secrets/"))).toEqual([]);
  });
});
