// What pi showed and what runs must be the same arguments: another extension may change them after
// this one has looked (`event.input` is shared and mutable).
import { createHash } from "node:crypto";

/** JSON with sorted keys: equal values have equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item === undefined ? null : item)).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** SHA-256 of arguments. */
export const hashOf = (args: unknown): string => createHash("sha256").update(canonical(args)).digest("hex");

/** Hashes of the arguments that were seen, by call. Bounded; a call takes its own. */
export class Seals {
  #seals = new Map<string, string>();
  #limit: number;

  constructor(limit = 4096) {
    this.#limit = limit;
  }

  put(toolCallId: string, args: unknown): void {
    this.#seals.delete(toolCallId);
    this.#seals.set(toolCallId, hashOf(args));
    const oldest = this.#seals.keys().next();
    if (this.#seals.size > this.#limit && !oldest.done) this.#seals.delete(oldest.value);
  }

  /** `unseen`: the call never came by `tool_call`. The seal is gone afterwards. */
  take(toolCallId: string, args: unknown): "same" | "changed" | "unseen" {
    const seal = this.#seals.get(toolCallId);
    this.#seals.delete(toolCallId);
    if (seal === undefined) return "unseen";
    return seal === hashOf(args) ? "same" : "changed";
  }
}
