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

const EGRESS = [{ to: [{ ipBlock: { cidr: "10.1.0.0/16" } }], ports: [{ port: 9090 }] }];
const ENABLED = [
  "--set",
  "networkPolicy.enabled=true",
  "--set-json",
  `networkPolicy.egress=${JSON.stringify(EGRESS)}`,
];

interface Egress {
  readonly to?: readonly (Peer & { readonly ipBlock?: { readonly cidr: string } })[];
  readonly ports: readonly { readonly port: number }[];
}

/** What the pods of this component may call, in words. */
function calledBy(objects: readonly KubernetesObject[], component: string): string[] {
  const policy = find(objects, "NetworkPolicy", `tradewind-${component}`);
  expect(at(policy, "spec", "policyTypes")).toEqual(["Ingress", "Egress"]);
  return (at(policy, "spec", "egress") as Egress[]).map(({ ports, to }) => {
    const peers = to?.map(
      ({ ipBlock, podSelector }) =>
        ipBlock?.cidr ??
        podSelector?.matchLabels?.["app.kubernetes.io/component"] ??
        podSelector?.matchLabels?.["k8s-app"],
    );
    return `${peers?.join("|") ?? "anybody"}:${ports.map(({ port }) => port).join("|")}`;
  });
}

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

  it("let pods call DNS, the API, each other, agents, and what is named, and nobody else", async () => {
    const objects = await render("minimal", ...ENABLED);
    const api = "anybody:443|6443";
    expect(calledBy(objects, "scaler")).toEqual([
      "kube-dns|169.254.20.10/32:53|53",
      api,
      "scaler:9811|9814",
      "agent:9810",
      "10.1.0.0/16:9090",
    ]);
    expect(calledBy(objects, "agent")).toEqual([api]);
    const alone = await render("minimal", ...ENABLED, "--set", "agent.podNames.enabled=false");
    expect(calledBy(alone, "agent")).toEqual([]);
    const onHost = await render("minimal", ...ENABLED, "--set", "agent.hostNetwork=true");
    expect(calledBy(onHost, "scaler")).toContain("anybody:9810");
    const known = [
      "--set-json",
      'networkPolicy.apiServer={"ports":[6443],"to":[{"ipBlock":{"cidr":"10.0.0.5/32"}}]}',
    ];
    expect(calledBy(await render("minimal", ...ENABLED, ...known), "scaler")).toContain("10.0.0.5/32:6443");
  });

  it("are not made where a source is configured and no rule says where it is", async () => {
    const source = '{"otlp":{},"prometheus":[{"url":"http://prometheus:9090"}]}';
    const sources = ["--set-json", `application.sources=${source}`];
    await expect(render("minimal", "--set", "networkPolicy.enabled=true", ...sources)).rejects.toThrow(
      /application\.sources names prometheus: list where they are in networkPolicy\.egress/,
    );
    await expect(render("minimal", ...ENABLED, ...sources)).resolves.not.toEqual([]);
  });
});
