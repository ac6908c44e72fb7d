import type { PolicyRule } from "@tradewind/kubernetes/client/rights.ts";

/** One request as an authorizer sees it. */
export interface ApiCall {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly contentType: string;
  status: number;
}

/** What a user may do: in one namespace, or everywhere. */
export interface Grant {
  readonly namespace?: string;
  readonly rules: readonly PolicyRule[];
}

/** Users by token, and what each may do. Who was granted nothing in particular may do anything. */
export class FakeAccess {
  private readonly users = new Map<string, string>([["admin-token", "admin"]]);
  private readonly grants = new Map<string, readonly Grant[]>();

  add(user: string, token: string, grants: readonly Grant[]): void {
    this.users.set(token, user);
    this.grants.set(user, grants);
  }

  expire(token: string): void {
    this.users.delete(token);
  }

  userOf(authorization = ""): string | undefined {
    const token = /^Bearer (.+)$/.exec(authorization)?.[1];
    return token === undefined ? undefined : this.users.get(token);
  }

  allows(call: ApiCall): boolean {
    const grants = this.grants.get(call.user);
    if (grants === undefined) return true;
    return grants.some(
      ({ namespace, rules }) =>
        (namespace === undefined || namespace === call.namespace) && rules.some((rule) => covers(rule, call)),
    );
  }
}

function covers(rule: PolicyRule, call: ApiCall): boolean {
  if (!rule.apiGroups.includes(call.group) || !rule.resources.includes(call.resource)) return false;
  if (!rule.verbs.includes(call.verb)) return false;
  if (rule.resourceNames === undefined) return true;
  const byField = /metadata\.name=([^,]+)/.exec(call.query.get("fieldSelector") ?? "")?.[1];
  return rule.resourceNames.includes(call.name ?? byField ?? "");
}
