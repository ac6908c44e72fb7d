import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { ReloadingTls } from "@tradewind/core/reloading-tls.ts";
import type { TlsFiles, TlsObserver } from "@tradewind/core/reloading-tls.ts";
import type { BatchExchange } from "../peers/exchange.ts";
import { startOtlpGrpcReceiver } from "./grpc-receiver.ts";
import type { ReceiverMetrics } from "./metrics.ts";
import type { OtlpOptions } from "./options.ts";
import { startOtlpReceiver } from "./receiver.ts";
import { SenderTokens } from "./sender-token.ts";
import type { OnSpans } from "./span-intake.ts";

export interface ReceiversOptions {
  readonly otlpListen: string;
  /** Absent: nothing is received over gRPC. */
  readonly otlpGrpcListen?: string | undefined;
  readonly otlpTls?: TlsFiles | undefined;
  readonly otlpTokenFile?: string | undefined;
}

export interface ReceiversParts {
  readonly options: ReceiversOptions;
  readonly section: OtlpOptions;
  readonly onSpans: OnSpans;
  readonly exchange: BatchExchange | undefined;
  readonly metrics: ReceiverMetrics & TlsObserver;
  readonly log: Logger;
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

/** How often certificates and tokens are read again: a renewed Secret is mounted within a minute or two. */
const REREAD_MS = 10_000;

/**
 * Starts the receivers of spans.
 * @returns their addresses by role
 * @throws TradewindError `cannot-listen`, `tls-material` or `otlp-token`
 */
export async function startReceivers(parts: ReceiversParts): Promise<Record<string, string>> {
  const { ends, exchange, log, metrics, onSpans, options, section } = parts;
  const { otlpGrpcListen, otlpListen, otlpTls, otlpTokenFile } = options;
  const reread = { everyMs: REREAD_MS, log };
  const tls = otlpTls && (await ReloadingTls.open(otlpTls, { ...reread, observer: metrics }));
  ends.push(() => tls?.stop());
  const tokens = otlpTokenFile === undefined ? undefined : await SenderTokens.open(otlpTokenFile, reread);
  ends.push(() => tokens?.stop());
  const onError = (error: unknown): void =>
    log.error({ problem: describeError(error) }, "spans could not be taken");
  const { maxSenderBytesPerSecond, maxSenderSpansPerSecond } = section;
  const limits = { maxSenderBytesPerSecond, maxSenderSpansPerSecond };
  const common = { onSpans, limits, metrics, exchange, onError, tls, tokens };
  const http = await startOtlpReceiver({ listen: otlpListen, ...common });
  ends.push(async () => http.stop());
  if (otlpGrpcListen === undefined) return { otlp: http.address };
  const grpc = await startOtlpGrpcReceiver({ listen: otlpGrpcListen, ...common });
  ends.push(async () => grpc.stop());
  return { otlp: http.address, grpc: grpc.address };
}
