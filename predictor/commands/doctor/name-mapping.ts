import { meshlessName } from "../../window/mesh-name.ts";
/** A workload as far as its name is compared with those in spans. */
export interface NamedWorkload {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  /** Under which its spans are looked for. */
  readonly service: string;
  /** Names and uids of its pods, where they are known. */
  readonly pods: readonly string[];
}

/** Why a workload is taken for the one behind a name. */
export type MappingEvidence = "name" | "pod";

export interface ProposedMapping {
  readonly workload: NamedWorkload;
  readonly evidence: MappingEvidence;
}

/** What people and platforms put after the name of a service. */
const ENDINGS = ["service", "svc", "server", "deployment", "deploy", "app"];

/**
 * The workload whose spans have another `service.name` than it is known by. Its pods say so where spans name one; else its name
 * does, apart from case, signs, namespace and endings like `-service`. Undefined where none fits, or more than one.
 * @param instances what spans of the service name as pod or instance
 */
export function proposeMapping(
  service: string,
  instances: Iterable<string>,
  workloads: readonly NamedWorkload[],
): ProposedMapping | undefined {
  const pods = [...instances];
  const byPod = workloads.filter((workload) => pods.some((pod) => isPodOf(pod, workload)));
  const longest = Math.max(0, ...byPod.map(({ name }) => name.length));
  // A pod of `shop-cart` looks like one of `shop`, too.
  const owner = only(byPod.filter(({ name }) => name.length === longest));
  if (owner !== undefined) return { workload: owner, evidence: "pod" };
  const alike = only(
    workloads.filter(
      (workload) => coreOf(service, workload.namespace) === coreOf(workload.name, workload.namespace),
    ),
  );
  return alike && { workload: alike, evidence: "name" };
}

/** A pod's name is that of its workload with what makes it unique. */
const isPodOf = (pod: string, { name, pods }: NamedWorkload): boolean =>
  pods.includes(pod) || (pods.length === 0 && pod.startsWith(`${name}-`));

function only<Value>(values: readonly Value[]): Value | undefined {
  return values.length === 1 ? values[0] : undefined;
}

/** `Cart-Service.shop` and `shop/cart` come to `cart`. */
function coreOf(name: string, namespace: string): string {
  const lower = name.toLowerCase().slice(0, 200);
  const place = namespace.toLowerCase();
  const bare = meshlessName(lower, place);
  const plain = bare.replace(/[^\p{L}\p{N}]/gu, "");
  const ending = ENDINGS.find((each) => plain.endsWith(each) && plain.length > each.length);
  return ending === undefined ? plain : plain.slice(0, -ending.length);
}
