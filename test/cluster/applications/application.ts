import type { Image } from "./images.ts";
import type { Phase } from "./phases.ts";

/** One service: a Deployment that runs a program with arguments of its own. */
export interface Component {
  readonly name: string;
  readonly image: Image;
  readonly args: readonly string[];
  /** Without one it takes its work from a queue. */
  readonly port?: number;
  /** Ports of its Service beside that one. */
  readonly furtherPorts?: readonly number[];
  /** Path that says whether a pod is ready; without one its open port does. */
  readonly readyPath?: string;
  /** Beside those of the application. */
  readonly env?: Readonly<Record<string, string>>;
  /** Texts by name, in the folder `/config`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Arguments of a first container, which must end well before the program starts. */
  readonly setUp?: readonly string[];
  /** One pod, whose CPU has no limit, from start to end: nobody scales a database, a queue or a collector. */
  readonly isFixed?: true;
}

/** What each user sends. */
export interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A program that nobody here wrote, and what its users ask of it. */
export interface JudgedApplication {
  readonly name: string;
  readonly components: readonly Component[];
  /** Component that users call. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cpu: { readonly request: string; readonly limit: string };
  readonly memoryLimit: string;
  /** As it is, or after the program was filled with data at an address such as `http://10.241.0.7:8080`. */
  readonly request: Request | ((origin: string) => Promise<Request>);
  /** A request without an answer by then has failed. */
  readonly timeoutSeconds: number;
  /** 95 of 100 requests must be answered in less. */
  readonly objectiveSeconds: number;
  readonly phases: readonly Phase[];
  /** Measured runs of each contender, unless asked otherwise. */
  readonly runs: number;
  /** `application.sources` of the chart. */
  readonly sources?: object;
}

/** Fewest and most pods of each component that is scaled, whoever scales it. */
export const BOUNDS = { minReplicas: 1, maxReplicas: 6 } as const;

/** What is measured against each other: an HPA on CPU as people set it, Tradewind with the HPA's actuator alone, and with sizes that move in place too. */
export const CONTENDERS = ["hpa-60", "tradewind", "tradewind-sizes"] as const;
export type Contender = (typeof CONTENDERS)[number];

export const scaledComponents = ({ components }: JudgedApplication): readonly Component[] =>
  components.filter(({ isFixed }) => isFixed !== true);
