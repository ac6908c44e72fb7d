import { TradewindError } from "@tradewind/core/values/errors.ts";

/** What a failed read means for the one who asked. */
export type ReadFailure =
  /** This node has no such source (ENOENT, ENODEV, EOPNOTSUPP …): unsupported, not an error. */
  | "absent"
  /** The source is there but may not be read, or the read failed. */
  | "unreadable";

const ABSENT = new Set(["ENOENT", "ENODEV", "ENOTDIR", "EOPNOTSUPP", "ENOTSUP", "ENXIO", "ESRCH", "EINVAL"]);

/** The system's error code, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/**
 * Tells a source that does not exist from one that fails. ENODEV is what a held descriptor of a removed cgroup
 * answers, EOPNOTSUPP and EINVAL what kernels answer for a feature that is compiled in and switched off.
 */
export function readFailure(error: unknown): ReadFailure {
  const code = systemCode(error);
  return code !== undefined && ABSENT.has(code) ? "absent" : "unreadable";
}

/**
 * Thrown for every file that is not there. One object for all: most sources are missing on some node, and an error with a
 * stack of its own costs a hundred times the system call that found out.
 */
export const MISSING_FILE: Error = Object.assign(new Error("the file is not there"), { code: "ENOENT" });

/** A source this node does not have. Collectors throw it; the runner turns it into `supported 0`. */
export class AbsentSource extends TradewindError {
  constructor(what: string, options?: { cause?: unknown }) {
    super("absent-source", `${what} is not available on this node`, options);
    this.name = "AbsentSource";
  }
}
