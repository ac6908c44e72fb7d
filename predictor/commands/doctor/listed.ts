import type { z } from "zod";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { listPages } from "@tradewind/kubernetes/watch/list-pages.ts";

const MAX_OBJECTS = 100_000;

/** Objects of a kind; those that are not understood are left out. @param namespace undefined for all at once */
export async function listed<Item>(
  client: ApiClient,
  resource: Resource,
  namespace: string | undefined,
  schema: z.ZodType<Item>,
): Promise<Item[]> {
  const items: Item[] = [];
  await listPages(
    client,
    { resource, namespace },
    { pageSize: 500, maxItems: MAX_OBJECTS },
    (object) => {
      const parsed = schema.safeParse(object);
      if (parsed.success) items.push(parsed.data);
    },
    () => items.splice(0),
  );
  return items;
}
