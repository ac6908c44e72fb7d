import { AccessTokens } from "@tradewind/core/net/access-tokens.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { TlsFiles, TlsObserver } from "@tradewind/core/net/reloading-tls.ts";
import type { BatchExchange } from "./exchange.ts";
import { startOtlpGrpcReceiver } from "./grpc-receiver.ts";
import type { ReceiverMetrics } from "./metrics.ts";
import type { OtlpOptions } from "./options.ts";
import { startOtlpReceiver } from "./receiver.ts";
import type { OnSpans } from "./span-intake.ts";
import type { OnDurations } from "./pushed-metrics/metric-intake.ts";

export interface ReceiversOptions {
  readonly otlpListen: string;
  /** Absent: nothing is received over gRPC. */
  readonly otlpGrpcListen?: string | undefined;
  readonly otlpTls?: TlsFiles | undefined;
  readonly otlpTokenFile?: string | undefined;
  /** Share of a core that one sender may keep busy. */
  readonly maxSenderWork: number;
}

export interface ReceiversParts {
  readonly options: ReceiversOptions;
  readonly section: OtlpOptions;
  readonly onSpans: OnSpans;
  readonly onDurations: OnDurations;
  readonly exchange: BatchExchange | undefined;
  readonly metrics: ReceiverMetrics & { readonly tls: (port: string) => TlsObserver };
  readonly clock: Clock;
  readonly log: Logger;
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

/**
 * Starts the receivers of spans.
 * @returns their addresses by role
 * @throws TradewindError `cannot-listen`, `tls-material` or `token-unusable`
 */
export async function startReceivers(parts: ReceiversParts): Promise<Record<string, string>> {
  const { clock, ends, exchange, log, metrics, onDurations, onSpans, options, section } = parts;
  const { maxSenderWork, otlpGrpcListen, otlpListen, otlpTls, otlpTokenFile } = options;
  const tls = otlpTls && (await ReloadingTls.open(otlpTls, { log, observer: metrics.tls("otlp") }));
  ends.push(() => tls?.stop());
  const reread = { monotonicMs: () => clock.monotonicMs(), log };
  const tokens = otlpTokenFile === undefined ? undefined : new AccessTokens(otlpTokenFile, reread);
  const onError = (error: unknown): void =>
    log.error({ problem: describeError(error) }, "spans could not be taken");
  const { maxSenderBytesPerSecond, maxSenderSpansPerSecond } = section;
  const limits = { maxSenderBytesPerSecond, maxSenderSpansPerSecond, maxSenderWork };
  const common = { onDurations, onSpans, limits, metrics, exchange, onError, tls, tokens };
  const http = await startOtlpReceiver({ listen: otlpListen, ...common });
  ends.push(async () => http.stop());
  if (otlpGrpcListen === undefined) return { otlp: http.address };
  const grpc = await startOtlpGrpcReceiver({ listen: otlpGrpcListen, ...common });
  ends.push(async () => grpc.stop());
  return { otlp: http.address, grpc: grpc.address };
}
