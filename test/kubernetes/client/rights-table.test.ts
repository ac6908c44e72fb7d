import { BLOCKS, PERMISSIONS } from "@tradewind/kubernetes/client/rights.ts";
import { describe, expect, it } from "vitest";

describe("the table of rights", () => {
  it("names every block, asks for each right once, and never for nodes/proxy, secrets or anything of everything", () => {
    expect(new Set(PERMISSIONS.map(({ block }) => block))).toEqual(new Set(BLOCKS));
    const lines = PERMISSIONS.map(
      ({ account, apiGroup, block, resource, verbs }) =>
        `${account} ${block} ${apiGroup}/${resource} ${verbs.join()}`,
    );
    expect(new Set(lines).size).toBe(lines.length);
    const text = JSON.stringify(PERMISSIONS);
    for (const never of ["proxy", "secrets", '"*"', "exec", "impersonate", "escalate", "bind"]) {
      expect(text).not.toContain(never);
    }
  });
});
