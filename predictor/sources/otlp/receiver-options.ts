import type { Clock } from "@tradewind/core/process/clock.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { AccessTokens } from "@tradewind/core/net/access-tokens.ts";
import type { OnDurations } from "./pushed-metrics/metric-intake.ts";
import type { BatchExchange } from "./exchange.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { ReceiverMetrics } from "./metrics.ts";
import type { OnSpans } from "./span-intake.ts";

export interface OtlpReceiverOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly onSpans: OnSpans;
  /** Takes histograms of durations; absent: metrics are discarded. */
  readonly onDurations?: OnDurations | undefined;
  readonly limits?: Partial<ReceiverLimits> | undefined;
  readonly metrics?: ReceiverMetrics | undefined;
  /** Told of errors that are not the sender's. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Serves TLS only. */
  readonly tls?: ReloadingTls | undefined;
  /** Takes telemetry only of who shows a token. */
  readonly tokens?: AccessTokens | undefined;
  /** Where several predictors share what each receives. */
  readonly exchange?: BatchExchange | undefined;
}
