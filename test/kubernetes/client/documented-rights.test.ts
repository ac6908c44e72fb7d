import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PERMISSIONS } from "@tradewind/kubernetes/client/rights.ts";
import type { Permission } from "@tradewind/kubernetes/client/rights.ts";

const page = readFileSync(new URL("../../../docs/kubernetes.md", import.meta.url), "utf8").replaceAll(
  / +/g,
  " ",
);

/** A right without the account that has it. */
function rightOf({ apiGroup, block, resource, resourceNames, scope, verbs, why }: Permission): string {
  const kind = apiGroup === "" ? resource : `${resource}.${apiGroup}`;
  const names = resourceNames === undefined ? "" : ` (${resourceNames.join(", ")})`;
  return `${block} | ${scope} | ${verbs.join(", ")} \`${kind}\`${names} | ${why} |`;
}

describe("docs/kubernetes.md", () => {
  it("lists every right of the table once, with all accounts that have it, and no other", () => {
    const rights = Map.groupBy(PERMISSIONS, rightOf);
    for (const [right, permissions] of rights)
      expect(page).toContain(`| ${permissions.map(({ account }) => account).join(", ")} | ${right}`);
    const rows = page.match(
      /^\| (agent|predictor|scaler|predictor, scaler) \| [a-zA-Z]+ \| (watched|cluster|own) \| /gm,
    );
    expect(rows).toHaveLength(rights.size);
  });
});
