import type { RouteRule, RouteRules } from "@tradewind/core/contract/route-rules.ts";
import { streamSeconds } from "./request-model.ts";

const NS_PER_SECOND = 1e9;

/**
 * Which operations are streams: those that the application says, and those that never answered in less than it takes for one. An
 * operation that answered once stays one with a latency, however slow it becomes, and so does one that has a rule of its own.
 */
export class Streams {
  private readonly answering = new Set<string>();
  private readonly streaming = new Set<string>();
  private readonly routes: () => RouteRules | undefined;
  private readonly limit: number;
  private rules: RouteRules | undefined;
  private hasStreams = false;
  /** Rules of names that were asked for, as far as there are streams. */
  private readonly known = new Map<string, RouteRule>();
  private longNs = Infinity;

  /** @param limit operations that are remembered */
  constructor(routes: () => RouteRules | undefined, limit: number) {
    this.routes = routes;
    this.limit = limit;
    this.refresh();
  }

  /** Reads the objectives again. */
  refresh(): void {
    this.rules = this.routes();
    this.known.clear();
    this.hasStreams = this.rules?.named.some(({ use }) => use === "stream") === true;
    const { milliseconds } = this.rules?.rest.objective ?? {};
    this.longNs = streamSeconds(milliseconds === undefined ? undefined : milliseconds / 1e3) * NS_PER_SECOND;
  }

  /** Requests of a route that take longer are over its objective; undefined where it has none. */
  objectiveSeconds(route: string): number | undefined {
    const rule = this.rules?.of(route);
    return rule?.use === "objective" ? rule.objective.milliseconds / 1e3 : undefined;
  }

  /** Whether the application says that the operation is a stream. */
  isStream(operation: string): boolean {
    if (!this.hasStreams || this.rules === undefined) return false;
    let rule = this.known.get(operation);
    if (rule === undefined) {
      if (this.known.size >= this.limit) this.known.clear();
      rule = this.rules.of(operation);
      this.known.set(operation, rule);
    }
    return rule.use === "stream";
  }

  /** Whether the application says of the operation what it is. */
  hasRule(operation: string): boolean {
    return this.rules !== undefined && this.rules.of(operation) !== this.rules.rest;
  }

  isLong(durationNs: number): boolean {
    return durationNs >= this.longNs;
  }

  /**
   * Whether a long request is one of a stream: its operation never answered sooner, and has no rule of its own. One that fails is, where others that did not fail
   * were.
   */
  isStreaming(service: string, operation: string, isFailed: boolean): boolean {
    const operationKey = key(service, operation);
    if (this.answering.has(operationKey)) return false;
    if (this.hasRule(operation)) return false;
    if (isFailed) return this.streaming.has(operationKey);
    if (this.streaming.size < this.limit) this.streaming.add(operationKey);
    return true;
  }

  /** An operation answered as requests do. */
  answered(service: string, operation: string): void {
    const operationKey = key(service, operation);
    // Those used last are kept.
    this.answering.delete(operationKey);
    this.streaming.delete(operationKey);
    this.answering.add(operationKey);
    if (this.answering.size <= this.limit) return;
    for (const oldest of this.answering) {
      this.answering.delete(oldest);
      return;
    }
  }
}

const key = (service: string, operation: string): string => `${service} ${operation}`;
