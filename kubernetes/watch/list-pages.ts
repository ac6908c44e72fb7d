import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { describePlace } from "../client/resources.ts";
import type { Place } from "../client/resources.ts";

const ListPage = z.object({
  metadata: z.object({ resourceVersion: z.string().min(1), continue: z.string().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

export interface ListQuery {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends ListQuery {
  readonly pageSize: number;
  /** More objects than this are an error rather than memory. */
  readonly maxItems: number;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A page's continuation expires after some minutes: a list is begun again this often before it is given up. */
const MAX_RESTARTS = 2;

/**
 * Lists a collection page by page and hands every object to `onItem`; `onRestart` asks to forget what was handed over,
 * because the list had to be begun anew.
 * @returns the resource version to watch from
 * @throws ApiError; TradewindError `too-many-objects`
 */
export async function listPages(
  client: ApiClient,
  place: Place,
  options: ListOptions,
  onItem: (item: unknown) => void,
  onRestart: () => void,
): Promise<string> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await listOnce(client, place, options, onItem);
    } catch (error) {
      if (!(error instanceof ApiError && error.isExpired) || restarts === MAX_RESTARTS) throw error;
      onRestart();
    }
  }
}

async function listOnce(
  client: ApiClient,
  place: Place,
  { pageSize, maxItems, labelSelector, fieldSelector, accept, signal }: ListOptions,
  onItem: (item: unknown) => void,
): Promise<string> {
  let next: string | undefined;
  let count = 0;
  for (;;) {
    const page = parseWith(
      ListPage,
      await client.call({
        ...place,
        verb: "list",
        query: { limit: pageSize, continue: next, labelSelector, fieldSelector },
        ...(accept !== undefined && { accept }),
        signal,
      }),
      `the list of ${describePlace(place)}`,
    );
    for (const item of page.items ?? []) {
      count += 1;
      if (count > maxItems) {
        throw new TradewindError(
          "too-many-objects",
          `there are more than ${maxItems} ${describePlace(place)}; name fewer namespaces`,
        );
      }
      onItem(item);
    }
    next = page.metadata.continue ?? "";
    if (next === "") return page.metadata.resourceVersion;
  }
}
