// guardian for pi: every call of the model (and the user's `!` commands) is judged by guardian, and
// pi's own tools run in it. Whatever goes wrong ends in a call that did not run.
import { type ExtensionAPI, type ExtensionContext, VERSION } from "@earendil-works/pi-coding-agent";

import { Calls, type Ready } from "./calls.ts";
import { CardDesk, type Card } from "./cards.ts";
import { runCommand, words } from "./commands.ts";
import { declarations } from "./declare.ts";
import { HostProcess, type Link, PARENT_VARIABLE } from "./host.ts";
import { guidance } from "./prompt.ts";
import { childOf, RelayLink, RelayServer } from "./relay.ts";
import { hashOf, Seals } from "./seal.ts";
import { Session } from "./session.ts";
import { bashOperations, ownTools, type Workshop } from "./tools.ts";
import { failureText, notRun } from "./words.ts";
import type { SessionView } from "./wire.d.ts";

/** pi's tools that only call other tools; those calls come one by one, and are judged then. */
const WRAPPERS = new Set(["codemode", "tool_search"]);
/** Names of guardian's own tools: another extension's tool of that name is judged as `pi:NAME`. */
const RESERVED = new Set(
  "read glob grep write edit bash bashoutput bashkill browserpreview asktool new_context toolsearch enterplanmode entergoalmode submitplan submitgoal task skill plugincheck pluginpack pluginscaffold".split(" "),
);

/** What serves one session of pi. */
interface Service {
  link: Link;
  calls: Calls;
  ready: Ready;
  /** Absent in a child pi: its session is the parent's. */
  session?: Session;
  relay?: RelayServer;
}

export default function guardian(pi: ExtensionAPI): void {
  pi.registerFlag("guardian-bin", { type: "string", description: "Path of the executable guardian" });
  const seals = new Seals();
  const desk = new CardDesk();
  /** Calls that pi may run itself, with the hash of what was permitted. */
  const permitted = new Map<string, string>();
  let service: Service | undefined;
  let trouble: unknown = "its session has not begun";
  let current: ExtensionContext | undefined;
  let lastTurn: string | undefined;
  let userCommands = 0;
  let warned = "";
  /** Problems of policy files that the user has been told of. */
  const told = new Set<string>();

  const say = (ctx: ExtensionContext | undefined, text: string, kind: "info" | "warning" | "error" = "info"): void => {
    if (ctx?.hasUI) ctx.ui.notify(text, kind);
    else console.error(`guardian: ${text}`);
  };
  const status = (text: string): void => current?.ui.setStatus("guardian", `guardian: ${text}`);
  const down = (ctx: ExtensionContext | undefined, why: string): void => {
    status("DOWN, tools are blocked");
    if (warned !== why) say(ctx, `${why}\nEvery tool is blocked until guardian runs.`, "error");
    warned = why;
  };
  const shown = (view: SessionView): void => {
    warned = "";
    status(view.mode === "agent" ? view.effectivePermissionMode : `${view.mode}, ${view.effectivePermissionMode}`);
  };

  const serving = (): Service => {
    if (!service) throw new Error(notRun(trouble));
    return service;
  };
  const workshop = (): Workshop => {
    const { calls, ready: plain } = serving();
    const ready: Ready = () =>
      plain().catch((error) => {
        throw new Error(notRun(error));
      });
    return { calls, ready, seals, refused: (id, kind, detail) => void record(kind, id, detail) };
  };
  /** Puts something on record; the call that it is about does not depend on it. */
  const record = async (kind: string, toolCallId: string, detail: object): Promise<void> => {
    try {
      const { link, session } = serving();
      if (!session) return;
      const { sessionId } = await session.ready();
      await link.request("audit.append", { kind, sessionId, toolCallId, detail });
    } catch (error) {
      say(current, `not on record: ${(error as Error).message}`, "warning");
    }
  };

  const notified = (method: string, params: any): void => {
    switch (method) {
      case "tools.output":
        if (childOf(params.toolCallId) !== undefined) service?.relay?.output(params);
        return service?.calls.output(params);
      case "permissions.request":
        return void answer(params);
      case "permissions.resolved":
        return desk.settled(params.requestId);
      case "policy.changed":
        return policyChanged(params);
      case "session.changed":
        if (params.change === "configured") void service?.session?.view().catch(() => {});
    }
  };
  const answer = async (card: Card): Promise<void> => {
    const call = service?.calls.find(card.toolCallId);
    const child = childOf(card.toolCallId);
    const ctx = call?.ctx ?? (child === undefined ? undefined : current);
    const asker = card.delegate ?? (child === undefined ? undefined : `Subagent ${child}`);
    const chosen = ctx?.hasUI ? await desk.ask(card, ctx.ui as any, [call?.signal], asker) : { decision: "deny" };
    const { sessionId, requestId } = card;
    await service?.link.request("permissions.resolve", { sessionId, requestId, ...chosen }).catch(() => {});
  };
  const policyChanged = (params: { waiting: boolean; problems: { file: string; line?: number; message: string; hint: string }[] }): void => {
    for (const one of params.problems) {
      const text = `policy ${one.file}${one.line ? `:${one.line}` : ""}: ${one.message}; ${one.hint}`;
      if (!told.has(text)) say(current, text, "warning");
      told.add(text);
    }
    if (params.waiting) say(current, "A change of the policy that loosens something waits: `/guardian policy reload` accepts it.");
  };

  /** The name by which guardian judges a tool of somebody else. */
  const judgedAs = (name: string): string => (RESERVED.has(name.toLowerCase()) ? `pi:${name}` : name);
  const foreign = () =>
    declarations(
      pi.getAllTools().flatMap((tool) => (owned.has(tool.name) || WRAPPERS.has(tool.name) ? [] : [{ tool, judgedAs: judgedAs(tool.name) }])),
    );

  // ---- the session

  const open = async (ctx: ExtensionContext): Promise<Service> => {
    const parent = process.env[PARENT_VARIABLE];
    if (parent) {
      try {
        const link = await RelayLink.join(parent, ctx.cwd, notified);
        const ready = async () => ({ ...link.place, turnId: undefined });
        return { link, ready, calls: new Calls(link, ready) };
      } catch (error) {
        say(ctx, `the parent's guardian cannot be used (${(error as Error).message}); this pi starts its own`, "warning");
      }
    }
    const wanted = (pi.getFlag("guardian-bin") as string | undefined) ?? process.env.GUARDIAN_BIN;
    const link = new HostProcess({
      wanted,
      cwd: ctx.cwd,
      attended: ctx.hasUI,
      notify: notified,
      died: (why) => down(current, why),
    });
    const session = new Session(link, ctx.sessionManager.getSessionId(), ctx.cwd, shown, foreign);
    const ready = () => session.ready();
    const opened: Service = { link, session, ready, calls: new Calls(link, ready) };
    opened.relay = await RelayServer.listen(link, ready);
    process.env[PARENT_VARIABLE] = opened.relay.path;
    return opened;
  };

  pi.on("session_start", async (_event, ctx) => {
    current = ctx;
    if (before(VERSION, 0, 86)) {
      const gap = before(VERSION, 0, 83) ? "the RPC command `bash` runs past guardian" : "a `!` command may run past guardian when it fails";
      say(ctx, `pi ${VERSION} is older than 0.86: ${gap}.`, "warning");
    }
    try {
      service = await open(ctx);
      if (!service.session) return status("the parent's");
      await service.session.view();
      const { sessionId } = await service.session.ready();
      const policy = await service.link.request("policy.show", { sessionId });
      policyChanged({ waiting: policy.waiting, problems: policy.layers.flatMap((layer) => layer.problems) as any });
    } catch (error) {
      trouble = error;
      down(ctx, (error as Error).message);
    }
  });

  pi.on("session_shutdown", async () => {
    const closing = service;
    service = undefined;
    trouble = "the session has ended";
    if (closing?.relay) {
      closing.relay.close();
      delete process.env[PARENT_VARIABLE];
    }
    await closing?.session?.end().catch(() => {});
    await closing?.link.stop();
  });

  pi.on("before_agent_start", async (event, ctx) => {
    current = ctx;
    try {
      const { session, ready } = serving();
      checkOwners(ctx);
      await session?.begin((event as { prompt?: string }).prompt);
      const { scratch, turnId } = await ready();
      lastTurn = turnId ?? lastTurn;
      return { systemPrompt: event.systemPrompt + guidance(scratch) };
    } catch (error) {
      // The calls of this prompt are blocked one by one, each with this reason.
      down(ctx, (error as Error).message);
      return undefined;
    }
  });

  pi.on("agent_settled", async () => {
    await service?.session?.end();
  });

  // ---- the tools

  const owned = new Map<string, unknown>();
  for (const tool of ownTools(process.cwd(), workshop)) {
    owned.set(tool.name, tool.parameters);
    pi.registerTool(tool);
  }
  /** Who took over a tool of ours; another extension may have done so since the last look. */
  const usurper = (name: string): string | undefined => {
    const tool = pi.getAllTools().find((one) => one.name === name);
    if (!tool || tool.parameters === owned.get(name)) return undefined;
    return tool.sourceInfo?.path ?? "another extension";
  };
  const checkOwners = (ctx: ExtensionContext): void => {
    for (const name of owned.keys()) {
      const rival = usurper(name);
      if (rival) say(ctx, `\`${name}\` was taken over by ${rival}; its calls are blocked. Load guardian first, or remove that extension.`, "error");
    }
  };

  pi.on("tool_call", async (event, ctx) => {
    current = ctx;
    const { toolName, toolCallId, input } = event;
    if (owned.has(toolName)) {
      const rival = usurper(toolName);
      if (rival) {
        void record("tool-taken-over", toolCallId, { toolName, by: rival });
        return { block: true, reason: `Not run: \`${toolName}\` was taken over by ${rival}, and does not run in guardian.` };
      }
      serving();
      seals.put(toolCallId, input); // judged where it runs, with what runs
      return undefined;
    }
    if (WRAPPERS.has(toolName) && isPis(toolName)) return undefined;
    const args = structuredClone(input);
    const result = await serving().calls.permit({ toolCallId, toolName: judgedAs(toolName), args, ctx, signal: ctx.signal });
    if (!result.ok) return { block: true, reason: failureText(result) };
    permitted.set(toolCallId, hashOf(args));
    return undefined;
  });

  /** The tool is part of pi itself. */
  const isPis = (name: string): boolean => {
    const source = pi.getAllTools().find((tool) => tool.name === name)?.sourceInfo;
    return source !== undefined && (source.source === "builtin" || source.path.startsWith("builtin:") || source.path.startsWith("<builtin"));
  };

  pi.on("tool_result", async (event) => {
    const { toolCallId, toolName, isError } = event;
    const hash = permitted.get(toolCallId);
    if (hash === undefined) return undefined;
    permitted.delete(toolCallId);
    if (hash === hashOf(event.input)) {
      void record("tool-finished", toolCallId, { toolName, isError });
      return undefined;
    }
    // It runs in another extension, so this is seen only now.
    void record("arguments-changed", toolCallId, { toolName, args: event.input });
    const text = `Another extension changed the arguments of \`${toolName}\` after they had been checked: this is not the result of what was permitted.`;
    say(current, text, "error");
    return { isError: true, content: [{ type: "text" as const, text }, ...event.content] };
  });

  pi.on("user_bash", async (_event, ctx) => {
    current = ctx;
    // Without operations pi would run the command itself, so a missing guardian has to throw.
    const id = `user-${process.pid}-${Date.now()}-${++userCommands}`;
    return { operations: bashOperations(workshop(), id, ctx, true) };
  });

  // ---- the user

  pi.registerCommand("guardian", {
    description: "Permission mode, grants, audit, rollback, policy",
    getArgumentCompletions: (prefix: string) => words.filter((word) => word.startsWith(prefix)).map((word) => ({ value: word, label: word })),
    handler: async (line, ctx) => {
      current = ctx;
      try {
        service ??= await open(ctx);
      } catch (error) {
        return say(ctx, (error as Error).message, "error");
      }
      const { link, session } = service;
      if (!session) return say(ctx, "This pi is a subagent: its guardian is its parent's.");
      await runCommand({ link, session, lastTurn: () => lastTurn, say }, line, ctx);
    },
  });
}

/** `version` is before `major.minor`. */
const before = (version: string, major: number, minor: number): boolean => {
  const [own = 0, second = 0] = version.split(".").map(Number);
  return own < major || (own === major && second < minor);
};
