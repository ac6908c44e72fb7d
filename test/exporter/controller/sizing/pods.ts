import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { podOf } from "../../../kubernetes/cluster-objects.ts";
import type { PodFacts } from "../../../kubernetes/cluster-objects.ts";

/** A pod of `cart` as it is read from the API. */
export const cartPod = (index: number, facts: PodFacts = {}): Pod => Pod.parse(podOf("cart", index, facts));

export const MEBI = 2 ** 20;
