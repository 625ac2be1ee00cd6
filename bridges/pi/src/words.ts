// What the model reads when a call did not run, or ran and failed.
import { GuardianMissing } from "./find.ts";
import type { ExecuteResult } from "./wire.d.ts";

const list = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

/** The sentence for a call that ended without what was asked: who said no, by which rule, what would be allowed. */
export function failureText(result: ExecuteResult, reader: "model" | "user" = "model"): string {
  const content = (result.content ?? {}) as Record<string, unknown>;
  const error = typeof content.error === "string" ? content.error : "the call failed";
  if (!result.denied) return [`${error}`, hint(content)].filter(Boolean).join(" ");
  if (content.cause === "user") return reader === "user" ? `Not run: ${error}.` : `Not run: ${error}. ${advice(content)}`;
  const rules = list(content.decidedBy);
  const by = rules.length ? ` (rule ${rules.join(", ")})` : "";
  if (reader === "user") return `Not run: guardian denied this command${by}: ${error}.`;
  return `Not run: guardian, the user's permission system, denied this call${by}: ${error}. ${advice(content)}`;
}

/** What would be allowed, by the cause of the denial. */
function advice(content: Record<string, unknown>): string {
  switch (content.cause) {
    case "user":
      return "Do not try to reach the same by other means; ask the user what to do instead.";
    case "reviewer_required":
      return (
        "Nobody can be asked in this mode of pi. Go on without it, or tell the user what you need: they can allow it by " +
        "running pi interactively, or with a rule in guardian's policy where the policy lets a rule allow it."
      );
    case "timeout":
      return "Go on with what does not need it, or ask the user to stay near.";
    case "contract_mode":
      return "The session is planning; changes wait until the plan is approved.";
    default:
      return "Do not try to reach the same by other means; use a narrower call that does not do this, or tell the user what you need.";
  }
}

function hint(content: Record<string, unknown>): string {
  const parts: string[] = [];
  if (typeof content.pointer === "string" && content.pointer) parts.push(`(argument ${content.pointer})`);
  if (list(content.nearest).length) parts.push(`Near names: ${list(content.nearest).join(", ")}.`);
  if (content.suggestedTool === "Glob") parts.push("Use ls or find for a directory.");
  return parts.join(" ");
}

/** For a call that guardian cannot be asked about. */
export const notRun = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof GuardianMissing) return `Not run: ${message}`;
  return (
    `Not run: guardian cannot be used (${message}), and without it nothing runs. ` +
    "The user can look with `guardian doctor` and then say `/guardian restart`."
  );
};

/** For a call that was in flight when guardian died. */
export const diedDuring = (why: string): string =>
  `${why}. The call was in flight: its processes were ended with guardian, and how far it came is not known. ` +
  "Look before you repeat it; guardian is started again with the next call.";

/** For a call whose arguments are other ones than those that were judged. */
export const changedArguments = (tool: string): string =>
  `Not run: another extension changed the arguments of \`${tool}\` after they had been checked. What was shown is not what would run.`;
