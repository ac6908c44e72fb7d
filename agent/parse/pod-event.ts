/** What the agent needs of a pod. */
export interface PodNames {
  readonly uid: string;
  /** The uid in cgroup paths: of a static pod the hash of its file, else the pod's own. */
  readonly cgroupUid: string;
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerName[];
}

export interface ContainerName {
  readonly id: string;
  readonly name: string;
  /** Init containers end, and others before they are started again. */
  readonly hasEnded: boolean;
}

/** One line of a watch, or one item of a list. */
export type PodEvent =
  | { readonly type: "set"; readonly pod: PodNames; readonly resourceVersion: string }
  | { readonly type: "delete"; readonly uid: string; readonly resourceVersion: string }
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** The resource version is too old, or the server gave up: list anew. */
  | { readonly type: "error"; readonly code: number };

const STATIC_HASH = ["kubernetes.io/config.hash", "kubernetes.io/config.mirror"];
const STATUS_LISTS = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
const LONGEST_NAME = 253;
/** A continue token holds the key of the last item: some hundred characters. */
const LONGEST_TOKEN = 8_192;
const MOST_CONTAINERS = 256;

type Json = Readonly<Record<string, unknown>>;

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= LONGEST_NAME ? value : undefined;
}

/**
 * The names in a Pod of the Kubernetes API (v1). Checked by hand, field by field: a schema library at run time costs the
 * agent 5 MB.
 * @returns undefined when it is no pod with a uid, a name and a namespace
 */
export function podNames(value: unknown): PodNames | undefined {
  const metadata = object(object(value)["metadata"]);
  const uid = text(metadata["uid"]);
  const name = text(metadata["name"]);
  const namespace = text(metadata["namespace"]);
  if (uid === undefined || name === undefined || namespace === undefined) return undefined;
  const annotations = object(metadata["annotations"]);
  const hash = STATIC_HASH.map((key) => text(annotations[key])).find((found) => found !== undefined);
  const status = object(object(value)["status"]);
  const containers = STATUS_LISTS.flatMap((list) => containersOf(status[list])).slice(0, MOST_CONTAINERS);
  return { uid, cgroupUid: hash ?? uid, name, namespace, containers };
}

/** `containerID` is `RUNTIME://ID`; empty until the container was created. */
function containersOf(list: unknown): ContainerName[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    const name = text(object(item)["name"]);
    const id = /^[a-z0-9.-]{1,32}:\/\/([A-Za-z0-9_.-]{1,128})$/.exec(
      text(object(item)["containerID"]) ?? "",
    )?.[1];
    const hasEnded = "terminated" in object(object(item)["state"]);
    return name === undefined || id === undefined ? [] : [{ id, name, hasEnded }];
  });
}

function resourceVersionOf(value: unknown): string {
  return text(object(object(value)["metadata"])["resourceVersion"]) ?? "";
}

/**
 * One line of `GET /api/v1/pods?watch=1`.
 * @returns undefined when the line is not JSON or not an event about a pod
 */
export function parsePodEvent(line: string): PodEvent | undefined {
  let event: Json;
  try {
    event = object(JSON.parse(line));
  } catch {
    return undefined;
  }
  const found = event["object"];
  const resourceVersion = resourceVersionOf(found);
  switch (event["type"]) {
    case "ADDED":
    case "MODIFIED": {
      const pod = podNames(found);
      return pod === undefined ? undefined : { type: "set", pod, resourceVersion };
    }
    case "DELETED": {
      const uid = podNames(found)?.uid;
      return uid === undefined ? undefined : { type: "delete", uid, resourceVersion };
    }
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion };
    case "ERROR":
      return { type: "error", code: Number(object(found)["code"]) || 0 };
    default:
      return undefined;
  }
}

/** A page of `GET /api/v1/pods`. */
export interface PodPage {
  readonly pods: readonly PodNames[];
  readonly resourceVersion: string;
  /** Token of the next page; empty on the last. */
  readonly next: string;
}

/** @returns undefined when the text is not a list of pods, or the token of its next page is out of bounds */
export function parsePodList(body: string): PodPage | undefined {
  let list: Json;
  try {
    list = object(JSON.parse(body));
  } catch {
    return undefined;
  }
  const items = list["items"];
  if (!Array.isArray(items)) return undefined;
  const next = object(list["metadata"])["continue"] ?? "";
  if (typeof next !== "string" || next.length > LONGEST_TOKEN) return undefined;
  return {
    pods: items.map(podNames).filter((pod) => pod !== undefined),
    resourceVersion: resourceVersionOf(list),
    next,
  };
}
