// pi's own tools with bodies that run in guardian. Descriptions, schemas and renderers stay pi's.
import fs from "node:fs";
import path from "node:path";
import {
  type BashOperations,
  createBashToolDefinition,
  createEditToolDefinition,
  createFindToolDefinition,
  createGrepToolDefinition,
  createLsToolDefinition,
  createReadToolDefinition,
  createWriteToolDefinition,
  type ExtensionContext,
} from "@earendil-works/pi-coding-agent";

import type { Calls, Ready } from "./calls.ts";
import { listDirectory, otherSpellings, resolvePath } from "./paths.ts";
import { bashTimeout, editDetails, findText, grepText, type Image, LONGEST_TIMEOUT, readResult, type Text } from "./results.ts";
import type { Seals } from "./seal.ts";
import { moveSpill } from "./spill.ts";
import { changedArguments, failureText } from "./words.ts";
import type { ExecuteResult } from "./wire.d.ts";

/** What a body needs. A getter, since the session changes with `/new` and `/resume`. */
export interface Workshop {
  calls: Calls;
  seals: Seals;
  ready: Ready;
  /** Says on record that a call was refused here. */
  refused(toolCallId: string, kind: string, detail: object): void;
}

type Definition = ReturnType<typeof createReadToolDefinition> | any;
const DEFAULT_GREP_LIMIT = 100;
const DEFAULT_LS_LIMIT = 500;
/** guardian's largest `context` of Grep. */
const MOST_CONTEXT = 20;

/** The seven tools. `workshop` is asked for at each call and throws when guardian is not there. */
export function ownTools(cwd: string, workshop: () => Workshop): Definition[] {
  /** Refuses a call whose arguments are not the ones that pi showed. */
  const sealed = (shop: Workshop, tool: string, toolCallId: string, params: unknown) => {
    const seal = shop.seals.take(toolCallId, params);
    if (seal === "same") return;
    shop.refused(toolCallId, seal === "changed" ? "arguments-changed" : "not-judged", { toolName: tool, args: params });
    if (seal === "changed") throw new Error(changedArguments(tool));
    throw new Error(`Not run: \`${tool}\` was called without having been checked by guardian.`);
  };
  /** Runs a tool of guardian's and gives its content; anything else is thrown as pi's tools throw. */
  const run = async (
    shop: Workshop,
    toolName: string,
    toolCallId: string,
    args: object,
    signal: AbortSignal | undefined,
    ctx: ExtensionContext,
    timeoutMs?: number,
  ): Promise<ExecuteResult> => {
    const result = await shop.calls.execute({ toolCallId, toolName, args, signal, ctx, timeoutMs });
    if (signal?.aborted) throw new Error("Operation aborted");
    return result;
  };
  const contentOf = (result: ExecuteResult): any => {
    if (result.ok) return result.content;
    throw new Error(failureText(result));
  };
  /** A copy of pi's definition; its schema object tells guardian's tool from another extension's. */
  const own = (base: any, execute: any, more: object = {}) => ({ ...base, parameters: { ...base.parameters }, ...more, execute });

  const read = own(createReadToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "read", id, params);
    const first = resolvePath(params.path, ctx.cwd);
    const args = (file: string) => ({
      path: file,
      ...(params.offset ? { offset: Math.max(1, Math.floor(params.offset)) } : {}),
      ...(params.limit === undefined ? {} : { limit: Math.floor(params.limit) }),
    });
    let result = await run(shop, "Read", id, args(first), signal, ctx);
    for (const spelling of result.errorCode === "NOT_FOUND" ? otherSpellings(first) : []) {
      const again = await run(shop, "Read", id, args(spelling), signal, ctx);
      if (again.errorCode === "NOT_FOUND") continue;
      result = again;
      break;
    }
    const content = readResult(contentOf(result));
    return { content, details: undefined, structuredContent: structured(content) };
  });

  const write = own(createWriteToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "write", id, params);
    const args = { path: resolvePath(params.path, ctx.cwd), content: params.content };
    const content = contentOf(await run(shop, "Write", id, args, signal, ctx));
    const text = content.notice ? `\n\n[${content.notice}]` : "";
    return { content: [{ type: "text", text: `Successfully wrote to ${params.path}${text}` }], details: undefined };
  });

  const edit = own(createEditToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "edit", id, params);
    const edits = params.edits.map((one: any) => ({ old_string: one.oldText, new_string: one.newText }));
    const args = { path: resolvePath(params.path, ctx.cwd), edits };
    const content = contentOf(await run(shop, "Edit", id, args, signal, ctx));
    return {
      content: [{ type: "text", text: `Successfully replaced ${edits.length} block(s) in ${params.path}.` }],
      details: editDetails(params.path, content),
    };
  });

  const grep = own(createGrepToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "grep", id, params);
    const start = resolvePath(params.path || ".", ctx.cwd);
    const args = {
      pattern: params.pattern,
      path: start,
      headLimit: Math.max(1, Math.floor(params.limit ?? DEFAULT_GREP_LIMIT)),
      ...(params.glob ? { include: params.glob.replace(/^(?:\.\/)+/, "") } : {}),
      ...(params.ignoreCase ? { caseInsensitive: true } : {}),
      ...(params.literal ? { fixedStrings: true } : {}),
      ...(params.context > 0 ? { context: Math.min(MOST_CONTEXT, Math.floor(params.context)) } : {}),
    };
    const content = contentOf(await run(shop, "Grep", id, args, signal, ctx));
    const { workspace } = await shop.ready();
    return { content: [{ type: "text", text: grepText(content, start, workspace) }], details: undefined };
  });

  const find = own(createFindToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "find", id, params);
    const start = resolvePath(params.path || ".", ctx.cwd);
    const limit = Math.max(1, Math.floor(params.limit ?? 1000));
    const content = contentOf(await run(shop, "Glob", id, { pattern: params.pattern, path: start, limit }, signal, ctx));
    const { workspace } = await shop.ready();
    return { content: [{ type: "text", text: findText(content, start, workspace) }], details: undefined };
  });

  // guardian has no tool that lists one directory. It judges (and records) a Glob of exactly this
  // directory; the names are then read through a handle to what was judged.
  const ls = own(createLsToolDefinition(cwd), async (id: string, params: any, signal: any, _update: any, ctx: any) => {
    const shop = workshop();
    sealed(shop, "ls", id, params);
    const written = resolvePath(params.path || ".", ctx.cwd);
    const canonical = fs.existsSync(written) ? fs.realpathSync(written) : written;
    contentOf(await run(shop, "Glob", id, { pattern: "*", path: canonical, limit: 1 }, signal, ctx, 100));
    return { content: [{ type: "text", text: lsText(canonical, params.limit) }], details: undefined };
  });

  const bash = own(
    createBashToolDefinition(cwd, { exposeSessionEnvironment: false }),
    async (id: string, params: any, signal: any, update: any, ctx: any) => {
      const shop = workshop();
      sealed(shop, "bash", id, params);
      const operations = bashOperations(shop, id, ctx);
      const definition = createBashToolDefinition(ctx.cwd, { operations, exposeSessionEnvironment: false });
      const { scratch } = await shop.ready();
      try {
        return withSpill(await definition.execute(id, params, signal, update, ctx), scratch);
      } catch (error) {
        throw new Error(moveSpill((error as Error).message, scratch).text);
      }
    },
    {
      parameters: bashParameters(createBashToolDefinition(cwd).parameters),
      promptGuidelines: [
        "Processes that a bash command leaves in the background are ended when it returns.",
        "Use read, grep, find and ls instead of shell commands that read or search.",
      ],
    },
  );
  return [read, write, edit, bash, grep, find, ls];
}

/** A result whose cut output lies where the model may read it. */
function withSpill(result: any, scratch: string): any {
  const block = result.content?.find((one: any) => one.type === "text");
  const { text, from, to } = moveSpill(block?.text ?? "", scratch);
  if (!from) return result;
  const rename = (value: any, key: string) => (value?.[key] === from ? { ...value, [key]: to } : value);
  return {
    ...result,
    content: result.content.map((one: any) => (one === block ? { ...one, text } : one)),
    details: rename(result.details, "fullOutputPath"),
    structuredContent: rename(result.structuredContent, "full_output_path"),
  };
}

/** pi's schema with the limit that holds here. */
function bashParameters(base: any): any {
  const timeout = { ...base.properties.timeout, description: `Timeout in seconds (optional, default and maximum ${LONGEST_TIMEOUT})` };
  return { ...base, properties: { ...base.properties, timeout } };
}

/** Bash backend of one call; `outsideTurn`: it is the user's own. */
export function bashOperations(shop: Workshop, toolCallId: string, ctx: ExtensionContext, outsideTurn = false): BashOperations {
  return {
    async exec(command, cwd, { onData, signal, timeout }) {
      const { workspace } = await shop.ready();
      if (fs.realpathSync(cwd) !== workspace) throw new Error(`Not run: guardian's session works in ${workspace}, not in ${cwd}.`);
      const { timeout: seconds, timeoutMs } = bashTimeout(timeout);
      const result = await shop.calls.execute({
        toolCallId,
        toolName: "Bash",
        args: { command, timeout: seconds },
        ctx,
        signal,
        timeoutMs,
        outsideTurn,
        output: (chunk) => onData(Buffer.from(chunk)),
      });
      // pi's bash tool knows exactly these two messages
      if (signal?.aborted || result.errorCode === "TOOL_ABORTED") throw new Error("aborted");
      if (result.errorCode === "TOOL_TIMEOUT") throw new Error(`timeout:${timeout ?? seconds}`);
      const content = (result.content ?? {}) as Record<string, any>;
      if (typeof content.exitCode !== "number") throw new Error(failureText(result, outsideTurn ? "user" : "model"));
      for (const note of bashNotes(content)) onData(Buffer.from(`\n[${note}]\n`));
      return { exitCode: content.exitCode };
    },
  };
}

/** What guardian says about a command besides its output. */
function bashNotes(content: Record<string, any>): string[] {
  const notes: string[] = [];
  const killed: any[] = Array.isArray(content.backgroundKilled) ? content.backgroundKilled : [];
  if (killed.length) notes.push(`guardian ended ${killed.length} process(es) that the command left in the background`);
  if (content.sandboxSuspected) notes.push("guardian's sandbox may be why this failed");
  return notes;
}

/** For programmatic callers (codemode), in the form of pi's own `read`. */
function structured(content: (Text | Image)[]): unknown {
  const text = content.find((block) => block.type === "text")?.text ?? "";
  const image = content.find((block) => block.type === "image");
  return image ? { type: "image", data: image.data, mimeType: image.mimeType, note: text } : text;
}

function lsText(canonical: string, limit: number | undefined): string {
  const most = Math.max(1, Math.floor(limit ?? DEFAULT_LS_LIMIT));
  const entries = listDirectory(canonical);
  entries.sort((a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase()));
  if (!entries.length) return "(empty directory)";
  const isDirectory = (entry: fs.Dirent) =>
    entry.isDirectory() || (entry.isSymbolicLink() && fs.statSync(path.join(canonical, entry.name), { throwIfNoEntry: false })?.isDirectory());
  const names = entries.slice(0, most).map((entry) => (isDirectory(entry) ? `${entry.name}/` : entry.name));
  const more = entries.length > most ? `\n\n[${most} entries limit reached. Use limit=${most * 2} for more]` : "";
  return `${names.join("\n")}${more}`;
}
