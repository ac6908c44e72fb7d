import { Fleet } from "@tradewind/core/contract/fleet.ts";
import { clientOf } from "@tradewind/core/net/endpoint/own-process.ts";
import { describeError } from "@tradewind/core/values/errors.ts";

export interface OtherFleetsOptions {
  /** Addresses of the scalers of other clusters. */
  readonly urls: readonly string[];
  /** Token that all of them take; absent: they ask for none. */
  readonly tokenFile: string | undefined;
  readonly monotonicMs: () => number;
}

type Answer = Pick<Fleet, "applications" | "unreachable">;

const TIMEOUT_SECONDS = 2;
/** However many people look, the others are asked once in this time. */
const FRESH_MS = 5_000;

/** The applications of other clusters' scalers, read only. */
export class OtherFleets {
  readonly #clients;
  readonly #options: OtherFleetsOptions;
  #last: { readonly askedMs: number; readonly answer: Promise<Answer> } | undefined;

  /** @throws TradewindError `invalid-input` where an address or the token file is none */
  constructor(options: OtherFleetsOptions) {
    const { tokenFile, urls } = options;
    this.#options = options;
    const access = { timeoutSeconds: TIMEOUT_SECONDS, tokenFile };
    this.#clients = urls.map((url) => ({
      url,
      client: clientOf({ name: "scaler", url, flag: "--fleet" }, access),
    }));
  }

  /** Never rejects. */
  async read(): Promise<Answer> {
    const nowMs = this.#options.monotonicMs();
    if (this.#last === undefined || nowMs - this.#last.askedMs >= FRESH_MS)
      this.#last = { askedMs: nowMs, answer: this.#ask() };
    return this.#last.answer;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map(async ({ client }) => client.close()));
  }

  async #ask(): Promise<Answer> {
    const all = await Promise.all(
      this.#clients.map(async ({ client, url }): Promise<Answer> => {
        try {
          const { applications } = await client.json({ path: "v1/fleet", query: { own: "1" } }, Fleet);
          const named = applications.map((row) => Object.assign(row, { cluster: url }));
          return { applications: named, unreachable: [] };
        } catch (error) {
          const problem = describeError(error).slice(0, 500);
          return { applications: [], unreachable: [{ cluster: url, problem }] };
        }
      }),
    );
    return {
      applications: all.flatMap(({ applications }) => applications),
      unreachable: all.flatMap(({ unreachable }) => unreachable),
    };
  }
}
