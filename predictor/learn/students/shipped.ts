import type { Students } from "@tradewind/core/contract/students.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { SHIPPED_STUDENTS } from "./shipped-students.ts";

const SHIPPED: Students = SHIPPED_STUDENTS;

/** Names the students that plans of this release ship with. */
export const SHIPPED_HASH = contentHash(SHIPPED);
const SHIPPED_TEXT = JSON.stringify(SHIPPED);

/** Their file; undefined for any other hash. */
export const shippedText = (hash: string): string | undefined =>
  hash === SHIPPED_HASH ? SHIPPED_TEXT : undefined;
