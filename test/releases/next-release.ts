/** Maps from names that people or models choose to numbers: a release does not add fields to them. */
const MAPS = new Set(["evidence", "signals", "labels", "steps"]);

/** A document as a later release may write it: a further field in every object, and a policy that nobody knew before. */
export function nextRelease(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => nextRelease(each, key));
  if (value === null || typeof value !== "object") return key === "policy" ? "oracle-v2" : value;
  const fields = Object.entries(value).map(([name, field]): [string, unknown] => [
    name,
    MAPS.has(name) ? field : nextRelease(field, name),
  ]);
  return Object.fromEntries([...fields, ["addedLater", { by: ["a later release"], ratio: 0.5 }]]);
}
