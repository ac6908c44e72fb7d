import { z } from "zod";

/**
 * A list, empty where none is given. One with more elements than `most` is refused before any of them is read: what strangers write costs
 * no more than what is used of it.
 */
export const ListOf = <Item extends z.ZodType>(item: Item, most: number) =>
  z
    .unknown()
    .nullish()
    .transform((value, context): unknown[] => {
      if (value === undefined || value === null) return [];
      if (Array.isArray(value) && value.length <= most) return value as unknown[];
      context.addIssue(
        Array.isArray(value)
          ? `has ${value.length} elements, and at most ${most} are read`
          : "must be a list",
      );
      return z.NEVER;
    })
    .pipe(z.array(item));
