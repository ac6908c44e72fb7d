import type { Clock } from "@tradewind/core/process/clock.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { PredictorMetrics } from "./metrics.ts";
import type { PredictorOptions } from "./options.ts";
import { peerIntake } from "../../sources/otlp/peer-intake.ts";
import type { OnSpans } from "../../sources/otlp/span-intake.ts";
import type { OnDurations } from "../../sources/otlp/pushed-metrics/metric-intake.ts";
import { registerPeerMetrics } from "../../sources/peers/metrics.ts";
import { Peers } from "../../sources/peers/peers.ts";
import type { PeersOptions } from "../../sources/peers/peers.ts";
import { PeerSecret } from "../../sources/peers/secret.ts";

export interface JoinParts {
  readonly options: Pick<
    PredictorOptions,
    "peers" | "peersListen" | "peersSecretFile" | "peersTls" | "plannersPerApplication"
  >;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PredictorMetrics;
  readonly state: NonNullable<PeersOptions["state"]>;
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

interface Joined {
  readonly peers?: Peers;
  readonly address?: string;
}

/** Listens for the other predictors before clients can send spans, and until after they can: who refuses has none. */
export async function joinPeers(
  { clock, ends, log, metrics, options, state }: JoinParts,
  onSpans: OnSpans,
  onDurations: OnDurations,
): Promise<Joined> {
  const { peers: targets, peersListen: listen, peersSecretFile, plannersPerApplication } = options;
  if (targets.length === 0) {
    if (plannersPerApplication === undefined) return {};
    throw new TradewindError(
      "invalid-config",
      "--planners-per-application needs --peers: the other predictors, which plan the rest",
    );
  }
  if (peersSecretFile === undefined) {
    throw new TradewindError(
      "invalid-config",
      "--peers needs --peers-secret-file: a file with the predictors' secret",
    );
  }
  const tls = await openTls({ ends, log, metrics, options });
  const take = peerIntake(clock, onSpans, onDurations);
  const peers = new Peers({
    targets,
    listen,
    secret: new PeerSecret(peersSecretFile, log),
    tls,
    state,
    onBatch: async ({ body, contentType }) => {
      const { accepted = 0, rejected = 0 } = await take(body, contentType);
      metrics.spans(accepted, rejected);
    },
    clock,
    rng: Math.random,
    log,
  });
  registerPeerMetrics(metrics.registry, () => peers.health());
  ends.push(async () => peers.stop());
  return { peers, address: await peers.start() };
}

/** The predictors' certificate; undefined where none is given. @throws TradewindError `invalid-config`, `tls-material` */
async function openTls({
  ends,
  log,
  metrics,
  options: { peers, peersTls },
}: Pick<JoinParts, "ends" | "log" | "metrics" | "options">): Promise<ReloadingTls | undefined> {
  const scheme = peersTls === undefined ? "http://" : "https://";
  const other = peers.find((target) => !target.replace(/^dns\+/, "").startsWith(scheme));
  if (other !== undefined) {
    throw new TradewindError(
      "invalid-config",
      `--peers ${other}: must be ${scheme} ${peersTls === undefined ? "without" : "with"} --peers-tls-cert`,
    );
  }
  if (peersTls === undefined) return undefined;
  const { ca, cert, key, refreshMs } = peersTls;
  const observer = metrics.tls("peers");
  const tls = await ReloadingTls.open({ cert, key, clientCa: ca }, { everyMs: refreshMs, log, observer });
  ends.push(() => tls.stop());
  return tls;
}
