import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ContainerSample } from "@tradewind/core/contract/snapshot.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { AgentOn } from "./agent-on.ts";
import { GIB } from "./tree/node.ts";
import { Tree } from "./tree/plant.ts";
import { BEFORE_SECONDS, busyOf, ZOO_CPUS, zooFiles } from "./tree/zoo.ts";
import type { Steady, Truth, ZooLayout } from "./tree/zoo.ts";

const [A, B, S, N] = ["a", "b", "e", "f"].map((digit) => digit.repeat(64)) as [
  string,
  string,
  string,
  string,
];
const UID = "11111111-2222-4333-8444-555555555555";
const IN_SLICE = UID.replaceAll("-", "_");
/** The pod under kubelet's two drivers. */
const SLICE = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${IN_SLICE}.slice`;
const PLAIN = `/kubepods/burstable/pod${UID}`;
const scope = (id: string, pod = SLICE, prefix = "cri-containerd"): string => `${pod}/${prefix}-${id}.scope`;

const APP: Steady = { cores: 1.5, gibibytes: 2, cacheGibibytes: 1, limitCores: 2, limitGibibytes: 4 };
const APP_TRUTH: Truth = { cores: 1.5, gibibytes: 2, limitCores: 2, limitGibibytes: 4, othersCores: 0.4 };
const REST: Steady = { cores: 0, gibibytes: 0.0005 };
const EMPTY: Steady = { cores: 0 };
const EMPTY_LIMITED: Steady = { cores: 0, limitCores: 2, limitGibibytes: 4 };
const SENTRY: Steady = { cores: 1.5, gibibytes: 2, cacheGibibytes: 1 };
const pause = (cgroup: string) => ({ cgroup, comm: "pause", words: ["/pause"] });
const sandbox = (cgroup: string) => ({
  cgroup,
  comm: "exe",
  words: ["runsc-sandbox", "--root=/run/containerd/runsc/k8s.io", "boot", "--bundle=/run/x"],
});
const fileServer = (cgroup: string) => ({
  cgroup,
  comm: "exe",
  words: ["runsc-gofer", "--root=/run/containerd/runsc/k8s.io", "gofer"],
});

/** One container of one pod, by where it is. */
const alone = (name: string, path: string, more: Partial<ZooLayout> = {}): ZooLayout => ({
  name,
  cgroups: { [path]: APP },
  truth: { [A]: APP_TRUTH },
  ...more,
});
const NODE = `/docker/${N}`;
/** Whose container is a node itself. */
const POD_OF_NODE = SLICE.replaceAll("11111111", "33333333");
const KIND = `/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod${IN_SLICE}.slice`;

const ORDINARY: readonly ZooLayout[] = [
  alone("containerd under systemd", scope(A), {
    cgroups: { [scope(A)]: APP, [scope(S)]: { cores: 0.0001, gibibytes: 0.0005 } },
    inhabitants: [pause(scope(S))],
  }),
  alone("containerd under cgroupfs", `${PLAIN}/${A}`),
  alone("CRI-O under systemd, its program in a cgroup below", scope(A, SLICE, "crio"), {
    cgroups: {
      [scope(A, SLICE, "crio")]: APP,
      [`${scope(A, SLICE, "crio")}/container`]: APP,
      [scope(A, SLICE, "crio-conmon")]: REST,
    },
  }),
  alone("CRI-O under cgroupfs", `${PLAIN}/crio-${A}`),
  alone("docker on v1 under systemd", scope(A, SLICE, "docker"), { mode: "v1" }),
  alone("docker on v1 under cgroupfs", `${PLAIN}/${A}`, { mode: "v1" }),
  alone("a hybrid host", scope(A), { mode: "hybrid" }),
  alone("a guaranteed pod", `/kubepods.slice/kubepods-pod${IN_SLICE}.slice/cri-containerd-${A}.scope`),
  alone(
    "a runtime that does not know kubelet's driver",
    `/system.slice/containerd.service/kubepods-burstable-pod${IN_SLICE}.slice:cri-containerd:${A}`,
  ),
  alone("a kubelet with a root of its own", `/clusterpods${PLAIN}/${A}`),
  alone("a root that is asked for", `/anything/pod${UID}/${A}`, { cgroupRoots: ["/anything"] }),
  alone("k0s as a service", `/system.slice/k0scontroller.service${PLAIN}/${A}`),
  alone("k3s in docker", `${NODE}${PLAIN}/${A}`),
  alone(
    "k3s without root",
    `/user.slice/user-1001.slice/user@1001.service/app.slice/k3s.service${PLAIN}/${A}`,
  ),
  alone("kind in docker", scope(A, `/system.slice/docker-${N}.scope${KIND}`)),
  alone("kind in Podman", scope(A, `/machine.slice/libpod-${N}.scope/container${KIND}`)),
  alone(
    "kind in Podman without root",
    scope(A, `/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-${N}.scope/container${KIND}`),
  ),
  alone("kind in nerdctl", scope(A, `/system.slice/nerdctl-${N}.scope${KIND}`)),
  alone("minikube in docker", scope(A, `/system.slice/docker-${N}.scope${SLICE}`, "docker")),
  alone("a node in a Linux container", `/lxc/204/ns${PLAIN}/${A}`),
  alone("a node in sysbox", `${NODE}/syscont-cgroup-root${PLAIN}/${A}`),
  alone("a kubelet in a pod", scope(A, `${scope(N, POD_OF_NODE)}${KIND}`), {
    cgroups: { [scope(N, POD_OF_NODE)]: APP, [scope(A, `${scope(N, POD_OF_NODE)}${KIND}`)]: APP },
  }),
  alone("a kubelet in docker in a pod", `${scope(N, POD_OF_NODE)}/docker/${B}/kubelet${PLAIN}/${A}`),
  alone("systemd in the container", scope(A), {
    cgroups: {
      [scope(A)]: APP,
      [`${scope(A)}/init.scope`]: { cores: 0.2, gibibytes: 0.5 },
      [`${scope(A)}/system.slice`]: { cores: 1.3, gibibytes: 1.5, cacheGibibytes: 1 },
      [`${scope(A)}/system.slice/nginx.service`]: { cores: 1.3, gibibytes: 1.5, cacheGibibytes: 1 },
    },
  }),
  alone("no memory controller", `${PLAIN}/${A}`, {
    without: /^cgroup\/.*\/memory\./,
    truth: { [A]: { cores: 1.5, limitCores: 2, othersCores: 0.4 } },
  }),
  {
    name: "an application, a native sidecar and a debugger, after an init container that ended",
    cgroups: {
      [SLICE]: { cores: 2.1, gibibytes: 2.6, cacheGibibytes: 1 },
      [scope(A)]: APP,
      [scope(B)]: { cores: 0.5, gibibytes: 0.5, limitCores: 1 },
      [scope(N)]: { cores: 0.1, gibibytes: 0.1 },
    },
    truth: {
      [A]: { ...APP_TRUTH, othersCores: 0.4 + 0.6 },
      [B]: { cores: 0.5, gibibytes: 0.5, limitCores: 1, othersCores: 0.4 + 1.6 },
      [N]: { cores: 0.1, gibibytes: 0.1, othersCores: 0.4 + 2 },
    },
  },
  {
    name: "a pod whose container is gone, beside one that runs",
    cgroups: {
      [SLICE.replaceAll("11111111", "22222222")]: { cores: 0, gibibytes: 0.1 },
      [scope(A)]: APP,
    },
    truth: { [A]: APP_TRUTH },
  },
];

const LIMITED: readonly ZooLayout[] = [
  {
    name: "a limit on the pod alone, which throttles",
    cgroups: {
      [SLICE]: {
        cores: 1.5,
        gibibytes: 2,
        cacheGibibytes: 1,
        limitCores: 1.5,
        limitGibibytes: 3,
        throttledPeriods: 7,
      },
      [scope(A)]: { cores: 1.5, gibibytes: 2, cacheGibibytes: 1 },
    },
    truth: {
      [A]: {
        cores: 1.5,
        gibibytes: 2,
        limitCores: 1.5,
        limitGibibytes: 3,
        throttledPeriods: 7,
        othersCores: 0.4,
      },
    },
  },
  {
    name: "a limit on the pod below that of its container, which throttles",
    cgroups: {
      [SLICE]: {
        cores: 1.5,
        gibibytes: 2,
        cacheGibibytes: 1,
        limitCores: 1.5,
        limitGibibytes: 3,
        throttledPeriods: 6,
      },
      [scope(A)]: APP,
    },
    truth: { [A]: { ...APP_TRUTH, limitCores: 1.5, limitGibibytes: 3, throttledPeriods: 6 } },
  },
  {
    name: "a limit of the container that throttles, within its pod's",
    cgroups: {
      [SLICE]: { cores: 1.5, gibibytes: 2, cacheGibibytes: 1, limitCores: 3, limitGibibytes: 6 },
      [scope(A)]: { ...APP, throttledPeriods: 4 },
    },
    truth: { [A]: { ...APP_TRUTH, throttledPeriods: 4 } },
  },
  {
    name: "two containers within one limit on the pod, on v1",
    mode: "v1",
    cgroups: {
      [PLAIN]: { cores: 1.9, gibibytes: 2.5, cacheGibibytes: 1, limitCores: 1.9, throttledPeriods: 5 },
      [`${PLAIN}/${A}`]: { ...APP, limitCores: 4 },
      [`${PLAIN}/${B}`]: { cores: 0.4, gibibytes: 0.5 },
    },
    truth: {
      [A]: { ...APP_TRUTH, limitCores: 1.9, throttledPeriods: 5, othersCores: 0.8 },
      [B]: { cores: 0.4, gibibytes: 0.5, limitCores: 1.9, throttledPeriods: 5, othersCores: 1.9 },
    },
  },
];

const SANDBOXED: readonly ZooLayout[] = [
  alone("gVisor in a cgroup of its own", scope(A), {
    cgroups: { [scope(S)]: SENTRY, [scope(A)]: EMPTY_LIMITED },
    inhabitants: [sandbox(scope(S))],
  }),
  alone("gVisor in the pod's cgroup", scope(A), {
    cgroups: { [SLICE]: SENTRY, [scope(A)]: EMPTY_LIMITED },
  }),
  alone("gVisor in the pod's cgroup on v1, its file server in the container's", `${PLAIN}/${A}`, {
    mode: "v1",
    cgroups: {
      [PLAIN]: SENTRY,
      [`${PLAIN}/${A}`]: { ...EMPTY_LIMITED, cores: 0.02, gibibytes: 0.02 },
    },
  }),
  alone("gVisor in a cgroup of its own, its file server in the container's", scope(A), {
    cgroups: {
      [SLICE]: SENTRY,
      [scope(S)]: { ...SENTRY, cores: 1.48 },
      [scope(A)]: { ...EMPTY_LIMITED, cores: 0.02, gibibytes: 0.02 },
    },
    inhabitants: [sandbox(scope(S)), fileServer(scope(A))],
  }),
  alone("gVisor that throttles at its pod", scope(A), {
    cgroups: {
      [SLICE]: { ...SENTRY, limitCores: 1.5, throttledPeriods: 3 },
      [scope(A)]: EMPTY_LIMITED,
    },
    truth: { [A]: { ...APP_TRUTH, limitCores: 1.5, throttledPeriods: 3 } },
  }),
  alone("gVisor whose container Kubernetes names, its processes hidden", scope(A), {
    cgroups: { [scope(S)]: SENTRY, [scope(A)]: EMPTY_LIMITED },
    named: [A],
  }),
  {
    name: "gVisor around two containers",
    cgroups: { [scope(S)]: SENTRY, [scope(A)]: EMPTY_LIMITED, [scope(B)]: EMPTY },
    inhabitants: [sandbox(scope(S))],
    truth: { [A]: { limitCores: 2, limitGibibytes: 4, othersCores: 0.4 }, [B]: { othersCores: 0.4 } },
  },
  alone("Kata under cgroupfs", `${PLAIN}/kata_${A}`),
  alone("Kata whose container Kubernetes names", `${PLAIN}/kata_${S}`, {
    named: [A],
    cgroups: { [PLAIN]: { ...APP, cores: 1.5 }, [`${PLAIN}/kata_${S}`]: SENTRY },
  }),
  alone("Kata under systemd, whose container Kubernetes names", scope(S), {
    named: [A],
    cgroups: { [SLICE]: APP, [scope(S)]: SENTRY },
  }),
  alone("Kata with its virtual CPUs in the pod and the rest beside it, on v1", `${PLAIN}/kata_${S}`, {
    mode: "v1",
    named: [A],
    cgroups: {
      [PLAIN]: { cores: 1.2, gibibytes: 0.1, limitCores: 2, limitGibibytes: 4 },
      [`${PLAIN}/kata_${S}`]: { cores: 1.2, gibibytes: 0.1 },
      [`/kata_overhead/${S}`]: { cores: 0.3, gibibytes: 1.9, cacheGibibytes: 1 },
    },
  }),
  {
    name: "Kata around two containers that Kubernetes names",
    cgroups: { [scope(S)]: SENTRY },
    named: [A, B],
    truth: { [A]: { othersCores: 0.4 }, [B]: { othersCores: 0.4 } },
  },
];

const SECONDS = 60;

interface Watched {
  readonly containers: readonly ContainerSample[];
  /** By id, a second. */
  readonly throttledPeriods: ReadonlyMap<string, number>;
}

/** What an agent shows of a layout after a minute, sampling every `stepSeconds`. */
async function watched(layout: ZooLayout, stepSeconds: number): Promise<Watched> {
  const all = { ...layout, othersCores: 0.4 };
  using tree = new Tree().plant(zooFiles(all, 0));
  const workloads = tree.path("workloads.json");
  if (layout.named !== undefined) writeFileSync(workloads, JSON.stringify(namesOf(layout.named)));
  using on = new AgentOn(tree, {
    cgroupRoots: layout.cgroupRoots ?? [],
    ...(layout.named !== undefined && { workloads }),
  });
  await on.agent.pollNames();
  on.cycle(0);
  const startMs = on.clock.nowMs();
  const first = new Map(on.snapshot().containers.map((each) => [each.id, each]));
  for (let seconds = stepSeconds; seconds <= SECONDS; seconds += stepSeconds) {
    on.cycle(stepSeconds, zooFiles(all, seconds));
  }
  const { containers } = on.snapshot();
  const throttledPeriods = containers.map(({ id, cpu, sampledAtMs }): [string, number] => {
    // A counter missing at the first look counts from the beginning.
    const before = first.get(id)?.cpu.throttledPeriodsTotal;
    const elapsedSeconds = (sampledAtMs - startMs) / 1e3 + (before === undefined ? BEFORE_SECONDS : 0);
    return [id, ((cpu.throttledPeriodsTotal ?? 0) - (before ?? 0)) / elapsedSeconds];
  });
  return { containers, throttledPeriods: new Map(throttledPeriods) };
}

function namesOf(ids: readonly string[]) {
  const containers = ids.map((id, index) => ({ id, name: `part-${index}` }));
  const pod = { uid: UID, name: "shop-1", node: "node-a", ready: true, containers };
  const counts = { replicasWanted: 1, replicasReady: 1 };
  const workload = { service: "shop", namespace: "shop", kind: "Deployment", name: "shop", ...counts };
  return { schema: WORKLOADS_SCHEMA, observedAtMs: 1, workloads: [{ ...workload, pods: [pod] }] };
}

/** What is wrong about a value, which must be within 2 % of the truth, and absent where there is none to know. */
function wrong(what: string, shown: number | undefined, truth: number | undefined): string[] {
  const isRight =
    truth === undefined || shown === undefined
      ? shown === truth
      : Math.abs(shown - truth) <= 0.02 * truth + 1e-9;
  return isRight ? [] : [`${what}: ${shown}, truly ${truth}`];
}

const gibibytes = (bytes: number | undefined): number | undefined => bytes && bytes / GIB;

describe.each([...ORDINARY, ...LIMITED, ...SANDBOXED])("$name", (layout) => {
  it.each([SECONDS, 1])("is shown within 2 %, looked at every %i s", async (stepSeconds) => {
    const { containers, throttledPeriods } = await watched(layout, stepSeconds);
    const shown = new Map(containers.map((each) => [each.id, each]));
    expect([...shown.keys()].toSorted()).toEqual(Object.keys(layout.truth).toSorted());
    const faults = Object.entries(layout.truth).flatMap(([id, truth]) => {
      const { cpu, memory, interference } = shown.get(id)!;
      const of = (what: string): string => `${what} of ${id.slice(0, 4)}`;
      return [
        ...wrong(of("cores"), cpu.usageCores, truth.cores),
        ...wrong(of("memory"), gibibytes(memory.workingSetBytes), truth.gibibytes),
        ...wrong(of("CPU limit"), cpu.limitCores, truth.limitCores),
        ...wrong(of("memory limit"), gibibytes(memory.limitBytes), truth.limitGibibytes),
        ...wrong(of("interference"), interference.cpu.value, truth.othersCores / ZOO_CPUS),
        ...wrong(of("throttling"), throttledPeriods.get(id), truth.throttledPeriods ?? 0),
      ];
    });
    expect(faults).toEqual([]);
    const total = containers.reduce((sum, { cpu }) => sum + (cpu.usageCores ?? 0), 0);
    expect(total).toBeLessThanOrEqual(busyOf(layout.cgroups) * 1.001);
  });
});
