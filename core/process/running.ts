/** A started process of Tradewind. */
export interface Running {
  /** Addresses it listens on, by role: `http`, `grpc`, `otlp`. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Stops listening, flushes what must be kept, and releases everything it holds. Safe to call twice. */
  stop(): Promise<void>;
}
