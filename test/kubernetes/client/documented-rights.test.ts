import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PERMISSIONS } from "@tradewind/kubernetes/client/rights.ts";
import type { Permission } from "@tradewind/kubernetes/client/rights.ts";

const page = readFileSync(new URL("../../../docs/kubernetes.md", import.meta.url), "utf8").replaceAll(
  / +/g,
  " ",
);

function row({ account, apiGroup, block, resource, resourceNames, scope, verbs, why }: Permission): string {
  const kind = apiGroup === "" ? resource : `${resource}.${apiGroup}`;
  const names = resourceNames === undefined ? "" : ` (${resourceNames.join(", ")})`;
  return `| ${account} | ${block} | ${scope} | ${verbs.join(", ")} \`${kind}\`${names} | ${why} |`;
}

describe("docs/kubernetes.md", () => {
  it("lists every right of the table, and no other", () => {
    for (const permission of PERMISSIONS) expect(page).toContain(row(permission));
    const rights = page.match(/^\| (agent|predictor|scaler) \| [a-zA-Z]+ \| (watched|cluster|own) \| /gm);
    expect(rights).toHaveLength(PERMISSIONS.length);
  });
});
