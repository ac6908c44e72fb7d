import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/** Name of the embedded store in the state directory. */
export const HISTORY_FILE = "history.sqlite";

/** Where each of several applications keeps its state, below the predictor's state directory: `applications/NAMESPACE/NAME`. */
export const APPLICATIONS = "applications";

/**
 * The store of one application, for whoever reads it.
 * @param state the predictor's state directory, that of one of its applications, or what `tradewind local` keeps, which holds it as `predictor`
 * @throws TradewindError `no-store` where there is none, or several and none is named
 */
export function findHistory(
  state: string,
  { application, namespace }: { application?: string; namespace?: string } = {},
): string {
  const roots = [join(state, "predictor"), state];
  const single = roots.map((root) => join(root, HISTORY_FILE)).find((path) => existsSync(path));
  if (single !== undefined) return single;
  const all = roots.flatMap((root) =>
    namesIn(join(root, APPLICATIONS)).flatMap((ofNamespace) =>
      namesIn(join(root, APPLICATIONS, ofNamespace)).map((name) => ({
        namespace: ofNamespace,
        name,
        path: join(root, APPLICATIONS, ofNamespace, name, HISTORY_FILE),
      })),
    ),
  );
  const found = all.filter(
    (each) =>
      existsSync(each.path) &&
      each.name === (application ?? each.name) &&
      each.namespace === (namespace ?? each.namespace),
  );
  const [onlyFound, ...others] = found;
  if (onlyFound !== undefined && others.length === 0) return onlyFound.path;
  const names = (found.length > 0 ? found : all).map((each) => `${each.namespace}/${each.name}`).slice(0, 8);
  throw new TradewindError(
    "no-store",
    names.length === 0
      ? `there is no ${HISTORY_FILE} in ${state}; give --state the predictor's state directory`
      : `${state} holds several applications; name one with --application and --namespace: ${names.join(", ")}`,
  );
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
