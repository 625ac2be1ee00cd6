// `/guardian …`: what the user does with guardian from inside pi.
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";

import type { Link } from "./host.ts";
import type { Session } from "./session.ts";
import type { SessionPermissionMode } from "./wire.d.ts";

const MODES: SessionPermissionMode[] = ["ask", "accept-edits", "auto", "inherit"];
const MEANING: Record<SessionPermissionMode, string> = {
  ask: "changes and commands are asked about",
  "accept-edits": "edits in the project run, commands are asked about",
  auto: "runs without asking, except what is always asked about",
  inherit: "guardian's setting `defaultPermissionMode`",
};

export const USAGE = `/guardian                        how things stand
/guardian mode [${MODES.join("|")}]
/guardian grants [clear [TOOL]]  what runs without asking until this session ends
/guardian audit [N]              the last N decisions of this session (10)
/guardian rollback [ID|last|turn] takes back changes that Write and Edit made
/guardian policy [reload]        the policy files in force
/guardian restart                starts guardian again after it failed`;

export interface Desk {
  link: Link;
  session: Session;
  /** The last turn that ran. */
  lastTurn(): string | undefined;
  say(ctx: ExtensionCommandContext, text: string, kind?: "info" | "warning" | "error"): void;
}

type Command = (desk: Desk, words: string[], ctx: ExtensionCommandContext) => Promise<void>;

const commands: Record<string, Command> = {
  async mode(desk, [wanted], ctx) {
    const { sessionId } = await desk.session.ready();
    let mode = MODES.find((one) => one === wanted);
    if (wanted && !mode) return desk.say(ctx, `There is no mode \`${wanted}\`: ${MODES.join(", ")}.`, "error");
    if (!mode) {
      const view = await desk.session.view();
      if (!ctx.hasUI) return desk.say(ctx, `Mode: ${view.effectivePermissionMode}`);
      const labels = MODES.map((one) => `${one}: ${MEANING[one]}`);
      const picked = await ctx.ui.select(`Permission mode (now ${view.effectivePermissionMode})`, labels);
      mode = MODES[labels.indexOf(picked ?? "")];
    }
    if (!mode) return;
    const answer = await desk.link.request("session.configure", { sessionId, permissionMode: mode });
    const view = desk.session.show(answer.session);
    desk.say(ctx, `Mode: ${view.effectivePermissionMode}. ${MEANING[mode]}.`);
  },

  async grants(desk, [verb, tool], ctx) {
    const { sessionId } = await desk.session.ready();
    if (verb === "clear") {
      const { cleared } = await desk.link.request("permissions.clearSessionGrants", { sessionId, ...(tool ? { toolName: tool } : {}) });
      return desk.say(ctx, `${cleared} grant(s) removed.`);
    }
    const { grants } = await desk.link.request("permissions.listSessionGrants", { sessionId });
    desk.say(ctx, grants.length ? grants.map((grant) => grant.sentence).join("\n") : "No grants: everything that policy asks about is asked about.");
  },

  async audit(desk, [count], ctx) {
    const { sessionId } = await desk.session.ready();
    const limit = Math.min(200, Math.max(1, Number(count) || 10));
    const { rows } = await desk.link.request("audit.query", { sessionId, limit });
    const lines = (rows as Record<string, any>[]).map((row) => {
      const time = new Date(row.at).toTimeString().slice(0, 8);
      const what = row.factsSummary ?? row.toolName ?? "";
      const how = [row.decision, row.decidedBy && `by ${row.decidedBy}`, row.cause, row.errorCode].filter(Boolean).join(", ");
      return `${time} ${row.event} ${what}${how ? ` [${how}]` : ""}`;
    });
    desk.say(ctx, lines.reverse().join("\n") || "Nothing on record yet.");
  },

  async rollback(desk, [which], ctx) {
    const { sessionId } = await desk.session.ready();
    if (which === "turn") {
      const turnId = desk.lastTurn();
      if (!turnId) return desk.say(ctx, "No prompt has run yet.");
      const { results, notCovered } = await desk.link.request("review.rollbackTurn", { sessionId, turnId });
      const lines = results.map((result) => `${result.path}: ${STATUS[result.status] ?? result.status}`);
      return desk.say(ctx, [...lines, ...notCovered].join("\n") || "The last prompt changed no file by Write or Edit.");
    }
    const { changes } = await desk.link.request("review.list", { sessionId });
    const active = (changes as Record<string, any>[]).filter((change) => change.state === "active");
    const labels = active.map((change) => `${change.path} (+${change.additions} -${change.deletions}, ${change.operation}) ${change.snapshotId}`);
    let chosen = which === "last" ? active[0]?.snapshotId : which;
    if (!chosen) {
      if (!active.length) return desk.say(ctx, "No change of Write or Edit to take back.");
      if (!ctx.hasUI) return desk.say(ctx, labels.join("\n"));
      chosen = active[labels.indexOf((await ctx.ui.select("Take back which change?", labels)) ?? "")]?.snapshotId;
    }
    if (!chosen) return;
    const result = await desk.link.request("review.rollback", { sessionId, snapshotId: chosen });
    const kind = result.status === "conflict" || result.status === "unavailable" ? "warning" : "info";
    desk.say(ctx, `${result.path}: ${STATUS[result.status] ?? result.status}`, kind);
  },

  async policy(desk, [verb], ctx) {
    const { sessionId } = await desk.session.ready();
    const method = verb === "reload" ? "policy.reload" : "policy.show";
    const policy = await desk.link.request(method, { sessionId });
    const layers = policy.layers.map((layer) => {
      const problems = layer.problems.map((one) => `\n    ${one.line ? `line ${one.line}: ` : ""}${one.message} ${one.hint}`);
      return `  ${layer.layer}: ${layer.file} (${layer.state})${problems.join("")}`;
    });
    const waiting = policy.waiting ? ["A change that loosens something waits: `/guardian policy reload` accepts it."] : [];
    const ignored = policy.ignoredAllowRules.length
      ? [`Allow rules of the project that do not count until \`guardian trust\`: ${policy.ignoredAllowRules.join(", ")}`]
      : [];
    desk.say(ctx, [`Preset ${policy.preset}, ${policy.rules} rule(s)`, ...layers, ...waiting, ...ignored].join("\n"));
  },

  async restart(desk, _words, ctx) {
    desk.link.forgive();
    await desk.session.view();
    desk.say(ctx, "guardian runs.");
  },
};

const STATUS: Record<string, string> = {
  rolledBack: "taken back",
  alreadyRolledBack: "was taken back before",
  conflict: "changed since; left as it is",
  unavailable: "cannot be taken back",
};

/** Words for completion. */
export const words = Object.keys(commands);

/** Runs `/guardian LINE`. */
export async function runCommand(desk: Desk, line: string, ctx: ExtensionCommandContext): Promise<void> {
  const [name, ...rest] = line.trim().split(/\s+/).filter(Boolean);
  try {
    if (!name) {
      const view = await desk.session.view();
      const mode = `Mode ${view.effectivePermissionMode} (${MEANING[view.effectivePermissionMode]}), project ${view.workspaceRoot}, session ${view.sessionId}`;
      return desk.say(ctx, `${mode}\n\n${USAGE}`);
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) return desk.say(ctx, `There is no \`/guardian ${name}\`.\n\n${USAGE}`, "error");
    await command(desk, rest, ctx);
  } catch (error) {
    desk.say(ctx, String((error as Error).message ?? error), "error");
  }
}
