import type { PeerMessage } from "./envelope.ts";

/** Time in which batches of a peer did not reach us, as far as is known; monotonic, ms. */
export interface Gap {
  /** -Infinity for a peer that received spans before it was first heard. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Batches that never came; undefined where the peer ended before it could say. */
  readonly batches?: number;
}

/** What is missing of one peer in some time. */
export interface MissingPart {
  readonly instance: string;
  readonly host: string | undefined;
  /** Where it goes on: all that the peer received since then. Else what `gap` says. */
  readonly sinceMs?: number;
  readonly gap?: Gap;
}

interface Account {
  readonly instance: string;
  /** Address that its messages come from. */
  host: string | undefined;
  heardMs: number;
  /** All that the peer received until then has come, or is in a gap. */
  countedMs: number;
  /** Number of the last batch accounted for. */
  last: number;
  /** The last message of each of its links. */
  readonly turns: Map<number, number>;
  /** Messages of links before this one are too old to be told from repetitions. */
  oldestEpoch: number;
  gaps: readonly Gap[];
  /** It receives nothing any more. */
  isGone: boolean;
}

type Spoken = Pick<PeerMessage, "kind" | "from" | "epoch" | "turn" | "sequence" | "waitedMs">;

const MOST_ACCOUNTS = 64;
const MOST_EPOCHS = 16;
const MOST_GAPS = 32;

/**
 * Keeps account of what the peers receive: each numbers the batches of its clients from 1, over all of its links, and says
 * with every message how far it has come. So a batch that is lost, that comes twice, or that was never meant for us because
 * the peer did not know us for a while shows in the numbers. Pure: times are arguments, monotonic, ms.
 */
export class PeerAccounts {
  /** Batches that peers had for us, once they were heard, and that never came. */
  missedTotal = 0;
  private readonly accounts = new Map<string, Account>();

  /**
   * Notes an authentic message.
   * @returns `fresh`: a batch to be counted; `known`: nothing to count; `replayed`: an old message, which changes nothing
   */
  note(spoken: Spoken, host: string | undefined, nowMs: number): "fresh" | "known" | "replayed" {
    const account = this.accounts.get(spoken.from) ?? this.open(spoken.from);
    if (!claim(account, spoken)) return "replayed";
    const isFirst = account.heardMs === -Infinity;
    account.host = host;
    account.heardMs = nowMs;
    account.isGone = spoken.kind === "bye";
    const upToMs = nowMs - spoken.waitedMs;
    const expected = account.last + (spoken.kind === "batch" ? 1 : 0);
    if (spoken.sequence > expected) {
      const batches = spoken.sequence - expected;
      const fromMs = isFirst ? -Infinity : account.countedMs;
      addGap(account, { fromMs, toMs: Math.max(upToMs, account.countedMs), batches });
      if (!isFirst) this.missedTotal += batches;
    }
    const isFresh = spoken.kind === "batch" && spoken.sequence >= expected;
    account.last = Math.max(account.last, spoken.sequence);
    account.countedMs = Math.max(account.countedMs, upToMs);
    return isFresh ? "fresh" : "known";
  }

  /** Whether an authentic message came before: another one of its link that was said later is known. */
  isRepeated({ epoch, from, turn }: Pick<Spoken, "epoch" | "from" | "turn">): boolean {
    const account = this.accounts.get(from);
    return account !== undefined && isOld(account, { epoch, turn });
  }

  /** A batch came and could not be read. */
  unreadable(instance: string, nowMs: number): void {
    const account = this.accounts.get(instance);
    if (account === undefined) return;
    this.missedTotal += 1;
    addGap(account, { fromMs: account.countedMs, toMs: nowMs, batches: 1 });
  }

  /** The peer has ended, at `goneMs` at the latest, without a word: what it had not sent by then is missing. */
  gone(instance: string, goneMs: number): void {
    const account = this.accounts.get(instance);
    if (account === undefined || account.isGone) return;
    account.isGone = true;
    addGap(account, { fromMs: account.countedMs, toMs: Math.max(goneMs, account.countedMs) });
  }

  /** When the peer was last heard; undefined for one never heard. */
  heardMs(instance: string): number | undefined {
    return this.accounts.get(instance)?.heardMs;
  }

  /** The peer that sends from this address and has not ended, heard last. */
  instanceAt(host: string): string | undefined {
    const at = [...this.accounts.values()].filter((account) => account.host === host && !account.isGone);
    return at.sort((a, b) => b.heardMs - a.heardMs)[0]?.instance;
  }

  /** Peers that were heard and have not ended. */
  present(): readonly string[] {
    return [...this.accounts.values()].filter(({ isGone }) => !isGone).map(({ instance }) => instance);
  }

  /**
   * What is missing of the time from `fromMs` to `toMs`.
   * @param toleranceMs by which a peer's account may end before `toMs`
   */
  missing(fromMs: number, toMs: number, toleranceMs: number): readonly MissingPart[] {
    return [...this.accounts.values()].flatMap((account): MissingPart[] => {
      const { countedMs, gaps, host, instance, isGone } = account;
      const found: MissingPart[] = gaps
        .filter((gap) => gap.fromMs < toMs && gap.toMs > fromMs)
        .map((gap) => ({ instance, host, gap }));
      if (!isGone && countedMs < toMs - toleranceMs) found.push({ instance, host, sinceMs: countedMs });
      return found;
    });
  }

  private open(instance: string): Account {
    if (this.accounts.size >= MOST_ACCOUNTS) {
      const [first] = [...this.accounts.values()].sort(
        (a, b) => Number(b.isGone) - Number(a.isGone) || a.heardMs - b.heardMs,
      );
      if (first !== undefined) this.accounts.delete(first.instance);
    }
    const account: Account = {
      instance,
      host: undefined,
      heardMs: -Infinity,
      countedMs: -Infinity,
      last: 0,
      turns: new Map(),
      oldestEpoch: 0,
      gaps: [],
      isGone: false,
    };
    this.accounts.set(instance, account);
    return account;
  }
}

/** @returns whether the message is newer than all before it on its link */
function claim(account: Account, { epoch, turn }: Spoken): boolean {
  const { turns } = account;
  if (isOld(account, { epoch, turn })) return false;
  turns.set(epoch, turn);
  if (turns.size > MOST_EPOCHS) {
    const oldest = Math.min(...turns.keys());
    turns.delete(oldest);
    account.oldestEpoch = oldest + 1;
  }
  return true;
}

function isOld({ oldestEpoch, turns }: Account, { epoch, turn }: Pick<Spoken, "epoch" | "turn">): boolean {
  const last = turns.get(epoch);
  return last === undefined ? epoch < oldestEpoch : turn <= last;
}

/** The oldest gaps become one where they are too many. */
function addGap(account: Account, gap: Gap): void {
  const gaps = [...account.gaps, gap];
  const [first, second, ...rest] = gaps;
  if (gaps.length <= MOST_GAPS || first === undefined || second === undefined) {
    account.gaps = gaps;
    return;
  }
  const batches = (first.batches ?? 0) + (second.batches ?? 0);
  account.gaps = [{ fromMs: first.fromMs, toMs: second.toMs, batches }, ...rest];
}
