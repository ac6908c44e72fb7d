import { VERSIONS } from "../programs.ts";
import type { NodeProgram, Program } from "../programs.ts";

/** Triggers that are compiled. KEDA's others, for clouds and databases, are most of the time a build takes. */
const TRIGGERS = [
  "cpu",
  "cron",
  "external",
  "external-push",
  "external-mock",
  "kubernetes-workload",
  "memory",
];

/** Files of KEDA's `pkg/scalers` that these triggers need. */
export const SCALER_FILES = [
  "cpu_memory_scaler.go",
  "cron_scaler.go",
  "external_mock_scaler.go",
  "external_scaler.go",
  "kubernetes_workload_scaler.go",
  "scaler.go",
];

/** What `external_scaler.go` uses of a file that is left out. */
export const SHARED_SCALER_FILE = `package scalers

import v2 "k8s.io/api/autoscaling/v2"

var externalMetricType v2.MetricSourceType = "External"
`;

/**
 * KEDA's `scalers_builder.go` with the cases of `TRIGGERS` only.
 * @throws Error when the file does not look as expected: a newer KEDA needs a look at this function
 */
export function keepTriggers(builder: string): string {
  const match = /(\/\/ TRIGGERS-START\n\tswitch triggerType \{\n)([\s\S]*?)(\n\t\/\/ TRIGGERS-END)/.exec(
    builder,
  );
  if (match === null) throw new Error("KEDA's scalers_builder.go has no TRIGGERS-START and TRIGGERS-END");
  const [whole, start = "", cases = "", end = ""] = match;
  const kept = cases.split(/^(?=\t(?:case|default))/m).filter((each) => {
    const [, name] = /^\tcase "([^"]+)"/.exec(each) ?? [];
    return name === undefined ? each.startsWith("\tdefault") : TRIGGERS.includes(name);
  });
  if (kept.length !== TRIGGERS.length + 1) {
    throw new Error(`KEDA's scalers_builder.go has ${kept.length - 1} of the ${TRIGGERS.length} triggers`);
  }
  return builder.replace(whole, () => `${start}${kept.join("")}${end}`);
}

/** KEDA's adapter serves its own metrics on every address; tests listen on loopback only. @throws Error as above */
export function bindAdapterToLoopback(main: string): string {
  const anywhere = 'fmt.Sprintf(":%v", metricsAPIServerPort)';
  if (!main.includes(anywhere)) throw new Error("KEDA's cmd/adapter/main.go binds its metrics differently");
  return main.replace(anywhere, () => anywhere.replace('":%v"', '"127.0.0.1:%v"'));
}

/** Modules that `k8s.io/kubernetes` names without a version, as they live in its own tree. */
const STAGING = `api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider
  cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api cri-client
  csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator
  kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission
  sample-apiserver sample-cli-plugin sample-controller`.split(/\s+/);

/** Arguments of `go mod edit` that add Kubernetes, etcd and, for a node, CoreDNS and the VPA to KEDA's module. */
export const moduleEdits = (): string[] => [
  ...STAGING.map(
    (name) => `-replace=k8s.io/${name}=k8s.io/${name}@v0.${VERSIONS.kubernetes.replace(/^1\./, "")}`,
  ),
  `-require=k8s.io/kubernetes@v${VERSIONS.kubernetes}`,
  `-require=go.etcd.io/etcd/server/v3@v${VERSIONS.etcd}`,
];
/** The Vertical Pod Autoscaler. */
export const VPA_MODULE = "k8s.io/autoscaler/vertical-pod-autoscaler";
export const NODE_EDITS: readonly string[] = [
  `-require=github.com/coredns/coredns@v${VERSIONS.coredns}`,
  `-require=${VPA_MODULE}@v${VERSIONS.vpa}`,
];

const kubernetesMain = (name: string, constructor: string, argument = ""): string => `package main

import (
	${argument === "" ? "" : '"context"\n\t'}"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/${name}/app"
)

func main() { os.Exit(cli.Run(app.${constructor}(${argument}))) }
`;

/** Plugins of CoreDNS that a cluster without an outside uses, in the order in which a query meets them. */
const DNS_PLUGINS = ["health", "ready", "errors", "cache", "kubernetes"];

/** Programs that KEDA's module does not have, by folder in `cmd/`. */
export const MAINS: Readonly<Record<string, string>> = {
  etcd: `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`,
  "kube-apiserver": kubernetesMain("kube-apiserver", "NewAPIServerCommand"),
  "kube-controller-manager": kubernetesMain("kube-controller-manager", "NewControllerManagerCommand"),
};

/** The same for a node. */
export const NODE_MAINS: Readonly<Record<string, string>> = {
  coredns: `package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
${DNS_PLUGINS.map((name) => `	_ "github.com/coredns/coredns/plugin/${name}"`).join("\n")}
)

func init() { dnsserver.Directives = []string{${DNS_PLUGINS.map((name) => `"${name}"`).join(", ")}} }

func main() { coremain.Run() }
`,
  "kube-proxy": kubernetesMain("kube-proxy", "NewProxyCommand"),
  "kube-scheduler": kubernetesMain("kube-scheduler", "NewSchedulerCommand"),
  kubelet: kubernetesMain("kubelet", "NewKubeletCommand", "context.Background()"),
};

/** Package of each program, and the name that Go gives to what it makes of it. */
export const PACKAGES: Readonly<Record<Program | NodeProgram, string>> = {
  etcd: "./cmd/etcd",
  "kube-apiserver": "./cmd/kube-apiserver",
  "kube-controller-manager": "./cmd/kube-controller-manager",
  "keda-operator": "./cmd/operator",
  "keda-adapter": "./cmd/adapter",
  coredns: "./cmd/coredns",
  "kube-proxy": "./cmd/kube-proxy",
  "kube-scheduler": "./cmd/kube-scheduler",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  kubelet: "./cmd/kubelet",
  "vpa-updater": `${VPA_MODULE}/pkg/updater`,
};

/** Linker flags: what the programs say their version is. KEDA reads the API server's. */
export function linkerFlags(): string {
  const [major = "", minor = ""] = VERSIONS.kubernetes.split(".");
  const version = "k8s.io/component-base/version";
  const values = {
    [`${version}.gitVersion`]: `v${VERSIONS.kubernetes}`,
    [`${version}.gitMajor`]: major,
    [`${version}.gitMinor`]: minor,
    [`${version}.gitTreeState`]: "clean",
    "k8s.io/client-go/pkg/version.gitVersion": `v${VERSIONS.kubernetes}`,
    "github.com/kedacore/keda/v2/version.Version": VERSIONS.keda,
  };
  return ["-s", "-w", ...Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)].join(" ");
}
