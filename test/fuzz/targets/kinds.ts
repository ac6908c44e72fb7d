import { ByteMutator } from "../engine/bytes.ts";
import type { Target } from "../engine/target.ts";
import { ValueMutator } from "../engine/values.ts";

/** A target that reads text; `latin1` where the product decodes files so. */
export function textTarget(
  name: string,
  seeds: readonly string[],
  run: (text: string) => void | Promise<void>,
  { words = [], encoding = "utf8", kind = "parser", maxBytes }: TextOptions = {},
): Target {
  const mutator = new ByteMutator(seeds, words, maxBytes);
  return {
    name,
    kind,
    make: (rng) => mutator.make(rng),
    run: (input) => run(Buffer.from(input as Uint8Array).toString(encoding)),
  };
}

interface TextOptions {
  readonly words?: readonly string[];
  readonly encoding?: "utf8" | "latin1";
  readonly kind?: Target["kind"];
  readonly maxBytes?: number;
}

/** A target that reads a value as JSON gives it. */
export function valueTarget(
  name: string,
  seeds: readonly unknown[],
  run: (value: unknown) => void | Promise<void>,
  kind: Target["kind"] = "parser",
): Target {
  const mutator = new ValueMutator(seeds);
  return { name, kind, make: (rng) => mutator.make(rng), run };
}

/** A target that reads bytes. */
export function bytesTarget(
  name: string,
  mutator: Pick<ByteMutator, "make">,
  run: (bytes: Uint8Array) => void | Promise<void>,
  kind: Target["kind"] = "parser",
): Target {
  return { name, kind, make: (rng) => mutator.make(rng), run: (input) => run(input as Uint8Array) };
}
