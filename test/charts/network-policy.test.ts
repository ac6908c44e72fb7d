import { describe, expect, it } from "vitest";
import { at, CASES, find, helm, render } from "./helm.ts";
import type { KubernetesObject } from "./helm.ts";

type Labels = Readonly<Record<string, string>>;

interface Peer {
  readonly namespaceSelector?: unknown;
  readonly podSelector?: { readonly matchLabels?: Labels };
}

interface Ingress {
  readonly from: readonly Peer[];
  readonly ports: readonly { readonly port: string }[];
}

const matches = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([label, value]) => labels[label] === value);

/** Names of the container ports that the policies of these pods open to pods of the release's namespace with the labels. */
function openTo(objects: readonly KubernetesObject[], pods: Labels, labels: Labels): string[] {
  return objects
    .filter(({ kind }) => kind === "NetworkPolicy")
    .filter((policy) => matches(at(policy, "spec", "podSelector", "matchLabels") as Labels, pods))
    .flatMap((policy) => at(policy, "spec", "ingress") as Ingress[])
    .filter(({ from }) =>
      from.some(
        ({ namespaceSelector, podSelector }) =>
          namespaceSelector === undefined && matches(podSelector?.matchLabels ?? {}, labels),
      ),
    )
    .flatMap(({ ports }) => ports.map(({ port }) => port));
}

/** Hosts and ports that the pods of `helm test` ask. */
function asked(objects: readonly KubernetesObject[]): Set<string> {
  const texts = objects
    .filter(({ kind }) => kind === "Pod")
    .flatMap((pod) => at(pod, "spec", "containers", 0, "env") as { name: string; value: string }[])
    .filter(({ name }) => name === "URLS" || name === "SCALER")
    .flatMap(({ value }) => value.trim().split(/\s+/));
  return new Set(texts.map((text) => new URL(text.includes("://") ? text : `tcp://${text}`).host));
}

const ENABLED = ["--set", "networkPolicy.enabled=true"];

describe.skipIf(helm === undefined)("the NetworkPolicies of the chart", () => {
  it.each(CASES)("%s: admit the pods of helm test to every host and port that they ask", async (name) => {
    const objects = await render(name, ...ENABLED, "--set", "tests.enabled=true");
    const tester = find(objects, "Pod", "tradewind-test-http").metadata.labels!;
    const hosts = [...asked(objects)];
    expect(hosts).toContain("tradewind-http.tradewind.svc:9812");
    for (const host of hosts) {
      const [service = "", port] = host
        .split(/[.:]/)
        .filter((_part, index, parts) => index === 0 || index === parts.length - 1);
      const { selector, ports } = at(find(objects, "Service", service), "spec") as {
        selector: Labels;
        ports: { port: number; targetPort: string }[];
      };
      const target = ports.find((each) => each.port === Number(port))?.targetPort;
      expect(openTo(objects, selector, tester), `ports open to helm test for ${host}`).toContain(target);
    }
  });

  it("open the predictor's port to no pod of helm test where there is none", async () => {
    const objects = await render("minimal", ...ENABLED, "--set", "tests.enabled=false");
    const policies = objects.filter(({ kind }) => kind === "NetworkPolicy");
    const rules = policies.flatMap((policy) => at(policy, "spec", "ingress") as Ingress[]);
    const open = rules.filter(({ ports }) => ports.some(({ port }) => port === "predictor"));
    expect(open.length).toBeGreaterThan(0);
    expect(JSON.stringify(open)).not.toContain('"test"');
  });
});
