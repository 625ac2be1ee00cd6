// The bridge against the real guardian (GUARDIAN_BIN), without pi.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { Calls } from "../src/calls.ts";
import { CardDesk, type Card, choicesOf, titleOf } from "../src/cards.ts";
import { declarations } from "../src/declare.ts";
import { findGuardian } from "../src/find.ts";
import { HostProcess } from "../src/host.ts";
import { listDirectory, otherSpellings, resolvePath } from "../src/paths.ts";
import { RelayLink, RelayServer } from "../src/relay.ts";
import { bashTimeout, editDetails, findText, grepText, readResult } from "../src/results.ts";
import { hashOf, Seals } from "../src/seal.ts";
import { Session, sessionIdFor } from "../src/session.ts";
import { moveSpill } from "../src/spill.ts";
import { failureText } from "../src/words.ts";

const guardian = process.env.GUARDIAN_BIN;
assert.ok(guardian, "GUARDIAN_BIN names the executable");
const worlds: string[] = [];
after(() => worlds.forEach((dir) => fs.rmSync(dir, { recursive: true, force: true })));

function world() {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bridge-")));
  worlds.push(dir);
  const cwd = path.join(dir, "project");
  fs.mkdirSync(cwd);
  return { dir, cwd, env: { PATH: process.env.PATH, HOME: dir, GUARDIAN_DATA_DIR: path.join(dir, "data") } };
}

/** A host with a session, as pi's extension puts them together. */
function rig(attended = false, notify: (method: string, params: any) => void = () => {}) {
  const { cwd, env } = world();
  const deaths: string[] = [];
  const link = new HostProcess({ wanted: guardian, cwd, attended, env, notify: (method, params) => {
    if (method === "tools.output") calls.output(params);
    notify(method, params);
  }, died: (why) => deaths.push(why) });
  const session = new Session(link, "0198c2f0-aaaa", cwd, () => {});
  const ready = () => session.ready();
  const calls = new Calls(link, ready);
  let next = 0;
  const execute = (toolName: string, args: object, more: object = {}) =>
    calls.execute({ toolCallId: `c${next++}`, toolName, args, ctx: {} as any, signal: undefined, ...more });
  return { cwd, env, link, session, ready, calls, execute, deaths };
}

test("a call runs in guardian, inside the turn of its prompt", async () => {
  const { cwd, link, session, execute } = rig();
  fs.writeFileSync(path.join(cwd, "a.txt"), "one\n");
  await session.begin("look at a.txt");
  const result = await execute("Read", { path: path.join(cwd, "a.txt") });
  assert.deepEqual(readResult(result.content as any), [{ type: "text", text: "one\n" }]);
  await session.end();
  await link.stop();
});

test("output streams while a command runs, and its end is an exit code", async () => {
  const { link, session, execute } = rig();
  const { sessionId } = await session.ready();
  await link.request("session.configure", { sessionId, permissionMode: "auto" });
  let seen = "";
  const result = await execute("Bash", { command: "echo out; echo err >&2; exit 3" }, { output: (chunk: string) => (seen += chunk) });
  assert.equal((result.content as any).exitCode, 3);
  assert.match(seen, /out\n/);
  assert.match(seen, /err\n/);
  await link.stop();
});

test("an abort ends the command and its wait", async () => {
  const { link, session, execute } = rig();
  const { sessionId } = await session.ready();
  await link.request("session.configure", { sessionId, permissionMode: "auto" });
  const abort = new AbortController();
  const result = await execute("Bash", { command: "echo started; sleep 30" }, { signal: abort.signal, output: () => abort.abort() });
  assert.equal(result.errorCode, "TOOL_ABORTED");
  await link.stop();
});

test("a killed guardian fails the call in flight, and the next call finds session and mode again", async () => {
  const { link, session, execute, deaths } = rig();
  await session.begin("work");
  const { sessionId, turnId } = await session.ready();
  await link.request("session.configure", { sessionId, permissionMode: "auto" });
  const kill = () => process.kill(link.pid!, "SIGKILL");
  await assert.rejects(execute("Bash", { command: "echo started; sleep 30" }, { output: kill }), /in flight/);
  assert.equal(deaths.length, 1);
  const again = await execute("Bash", { command: "echo back" });
  assert.equal((again.content as any).stdout, "back\n");
  const now = await session.ready();
  assert.equal(now.sessionId, sessionId);
  assert.notEqual(now.turnId, turnId, "the turn of a dead host has ended; a new one runs");
  assert.ok(now.turnId);
  await link.stop();
});

test("a missing guardian blocks every call and says what to do", async () => {
  const { cwd, env } = world();
  const link = new HostProcess({ wanted: "/nonexistent/guardian", cwd, attended: false, env, notify: () => {}, died: () => {} });
  const session = new Session(link, "s", cwd, () => {});
  const calls = new Calls(link, () => session.ready());
  const call = { toolCallId: "c", toolName: "Read", args: { path: "x" }, ctx: {} as any, signal: undefined };
  await assert.rejects(calls.execute(call), /GUARDIAN_BIN/);
});

test("a guardian that ends at once blocks every call and shows what it said", async () => {
  const { cwd, env, dir } = world();
  const broken = path.join(dir, "broken");
  fs.writeFileSync(broken, "#!/bin/sh\necho the store is broken >&2\nexit 7\n", { mode: 0o755 });
  const link = new HostProcess({ wanted: broken, cwd, attended: false, env, notify: () => {}, died: () => {} });
  await assert.rejects(link.connect(), /exit code 7: the store is broken/);
});

test("the search for guardian passes over the project's own", () => {
  const { cwd, dir } = world();
  const bin = path.join(cwd, "node_modules/.bin");
  fs.mkdirSync(bin, { recursive: true });
  fs.writeFileSync(path.join(bin, "guardian"), "#!/bin/sh\n", { mode: 0o755 });
  assert.throws(() => findGuardian(undefined, cwd, { PATH: `node_modules/.bin:${bin}` }), /was not found/);
  fs.writeFileSync(path.join(dir, "guardian"), "#!/bin/sh\n", { mode: 0o755 });
  assert.equal(findGuardian(undefined, cwd, { PATH: `${bin}:${dir}` }), path.join(dir, "guardian"));
});

test("a card is answered by the exact option, through guardian's own words", async () => {
  const desk = new CardDesk();
  let shown: string[] = [];
  const state: { link?: HostProcess } = {};
  const { link, execute } = rig(true, (method, params) => {
    if (method !== "permissions.request") return;
    const dialogs = { select: async (_title: string, options: string[]) => { shown = options; return "Allow once"; }, input: async () => undefined };
    void desk.ask(params, dialogs, []).then((answer) => state.link?.request("permissions.resolve", { sessionId: params.sessionId, requestId: params.requestId, ...answer }));
  });
  state.link = link;
  const result = await execute("Bash", { command: "git reset --hard; echo done" });
  assert.match(String((result.content as any).stdout), /done/);
  assert.deepEqual(shown, ["Allow once", "Deny", "Deny and say why"], "a destructive command offers nothing that lasts");
  await link.stop();
});

const card = (more: object = {}): Card => ({
  requestId: "r1", sessionId: "s", toolCallId: "c", toolName: "Write", reason: "why", summary: "writes a.txt", card: ["writes a.txt"],
  allowedDecisions: ["allow-once", "allow-session", "deny"], grantSentence: "Write, in the project", suggestions: [], deadline: Date.now() + 60_000, ...more,
}) as any;

test("anything but an offered option is a denial", async () => {
  const desk = new CardDesk();
  const say = (select: () => Promise<any>) => desk.ask(card(), { select, input: async () => undefined }, []);
  assert.deepEqual(await say(async () => undefined), { decision: "deny" });
  assert.deepEqual(await say(async () => "allow once"), { decision: "deny" });
  assert.deepEqual(await say(async () => 0), { decision: "deny" });
  assert.deepEqual(await say(async () => { throw new Error("closed"); }), { decision: "deny" });
  assert.deepEqual(await say(async () => "Allow: Write, in the project"), { decision: "allow-session" });
  const late = desk.ask(card({ deadline: Date.now() - 1 }), { select: async () => "Allow once", input: async () => undefined }, []);
  assert.deepEqual(await late, { decision: "deny" });
});

test("a card that guardian settled is taken away, and the next one is shown", async () => {
  const desk = new CardDesk();
  const closed = desk.ask(card(), {
    select: (_title, _options, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined))),
    input: async () => undefined,
  }, []);
  const next = desk.ask(card({ requestId: "r2" }), { select: async () => "Allow once", input: async () => undefined }, []);
  await new Promise((resolve) => setImmediate(resolve));
  desk.settled("r1");
  assert.deepEqual(await closed, { decision: "deny" });
  assert.deepEqual(await next, { decision: "allow-once" });
});

test("choices name what they allow, and two of one name are one", () => {
  const suggestion = { decision: "allow-always-for-command-pattern", sentence: "commands that start with `cargo test`", rule: "…" };
  const labels = choicesOf(card({ allowedDecisions: ["allow-once", "allow-always-for-command-pattern", "deny"], suggestions: [suggestion, suggestion] })).map((choice) => choice.label);
  assert.deepEqual(labels, ["Allow once", "Always allow: commands that start with `cargo test`", "Deny", "Deny and say why"]);
  assert.match(titleOf(card(), "Subagent 1"), /^Subagent 1 asks:\n/);
  const lines = ["Allow Bash?", "  [deny] in the text", "  x", "  [allow-once] this call only", "  [deny] the call does not run"];
  assert.equal(titleOf(card({ card: lines })), "Allow Bash?\n  [deny] in the text\n  x", "only the list of answers goes");
});

test("a denial may carry the user's words", async () => {
  const answer = new CardDesk().ask(card(), { select: async () => "Deny and say why", input: async () => " use git stash " }, []);
  assert.deepEqual(await answer, { decision: "deny", feedback: "use git stash" });
});

test("arguments that changed after they were seen are told from those that did not", () => {
  const seals = new Seals(2);
  const args = { command: "ls", nested: { b: 1, a: [1, undefined] } };
  seals.put("1", args);
  assert.equal(seals.take("1", { nested: { a: [1, null], b: 1 }, command: "ls" }), "same");
  assert.equal(seals.take("1", args), "unseen", "a seal is used once");
  seals.put("2", args);
  args.command = "rm -rf x";
  assert.equal(seals.take("2", args), "changed");
  for (const id of ["3", "4", "5"]) seals.put(id, {});
  assert.equal(seals.take("3", {}), "unseen", "old seals go");
  assert.notEqual(hashOf({ a: "1" }), hashOf({ a: 1 }));
});

test("paths are read as pi reads them", () => {
  assert.equal(resolvePath("@src/a.ts", "/p"), "/p/src/a.ts");
  assert.equal(resolvePath("~/x", "/p"), path.join(os.homedir(), "x"));
  assert.equal(resolvePath("a\u00A0b", "/p"), "/p/a b");
  assert.equal(resolvePath("./a", "/p"), "/p/a");
  assert.equal(resolvePath("link/../a", "/p"), "/p/link/../a", "what `..` means after a link is the kernel's to say");
  assert.deepEqual(otherSpellings("/p/it's 3 PM.png"), ["/p/it's 3\u202FPM.png", "/p/it\u2019s 3 PM.png"]);
});

test("a directory that became a link is not listed", () => {
  const { cwd, dir } = world();
  fs.symlinkSync(dir, path.join(cwd, "link"));
  assert.throws(() => listDirectory(path.join(cwd, "link")));
  fs.mkdirSync(path.join(cwd, "real"));
  assert.deepEqual(listDirectory(path.join(cwd, "real")), []);
});

test("results look as pi's own", () => {
  const review = { hunks: [{ header: "@@ -9,3 +9,3 @@", lines: [{ type: "context", text: "a" }, { type: "del", text: "b" }, { type: "add", text: "B" }, { type: "context", text: "c" }] }] };
  assert.deepEqual(editDetails("x.txt", { review }), {
    diff: "  9 a\n-10 b\n+10 B\n 11 c", firstChangedLine: 10,
    patch: "--- x.txt\n+++ x.txt\n@@ -9,3 +9,3 @@\n a\n-b\n+B\n c\n",
  });
  const matches = [{ path: "src/a.rs", line: 2, text: "hit", before: ["x"], after: ["y"] }, { path: "src/a.rs", line: 3, text: "y", before: ["hit"], after: [] }];
  assert.equal(grepText({ matches }, "/w/src", "/w"), "a.rs-1- x\na.rs:2: hit\na.rs:3: y");
  assert.equal(grepText({ matches: [] }, "/w", "/w"), "No matches found");
  assert.equal(findText({ matches: ["src/a.rs"], notice: "one more" }, "/w", "/w"), "src/a.rs\n\n[one more]");
  assert.deepEqual(bashTimeout(undefined), { timeout: 300 });
  assert.deepEqual(bashTimeout(0.5), { timeout: 1, timeoutMs: 500 });
  assert.deepEqual(bashTimeout(9000), { timeout: 300 });
  assert.throws(() => bashTimeout(-1));
});

test("cut output is moved to scratch, and not through a link", () => {
  const { dir, cwd } = world();
  const cut = (name: string) => {
    fs.writeFileSync(path.join(dir, name), "all of it\n");
    return `tail\n\n[Showing lines 3-4 of 4. Full output: ${path.join(dir, name)}]`;
  };
  const moved = moveSpill(cut("pi-bash-0a1b.log"), cwd);
  const to = path.join(cwd, "tool-output/pi-bash-0a1b.log");
  assert.equal(moved.text, `tail\n\n[Showing lines 3-4 of 4. Full output: ${to}]`);
  assert.equal(fs.readFileSync(to, "utf8"), "all of it\n");
  fs.rmSync(path.join(cwd, "tool-output"), { recursive: true });
  fs.mkdirSync(path.join(dir, "elsewhere"));
  fs.symlinkSync(path.join(dir, "elsewhere"), path.join(cwd, "tool-output"));
  const text = cut("pi-bash-2c3d.log");
  assert.equal(moveSpill(text, cwd).text, text);
  assert.deepEqual(fs.readdirSync(path.join(dir, "elsewhere")), []);
});

test("schemas say what other tools touch", () => {
  const tool = (name: string, properties: object) => ({ tool: { name, parameters: { type: "object", properties } }, judgedAs: name });
  const text = { type: "string" };
  assert.deepEqual(
    declarations([
      tool("fetch", { url: text, depth: { type: "number" } }),
      tool("save", { file_path: text, content: text, files: { type: "array", items: text } }),
      tool("run", { command: text, cwd: text }),
      tool("powershell", { command: text }),
      tool("think", { thought: text }),
      tool("mcp__files__read", { path: text }),
      tool("a b", { path: text }),
      tool("SAVE", { path: text }),
    ]),
    [
      { name: "fetch", facts: { paths: [], url: "/url" } },
      { name: "save", facts: { paths: [{ pointer: "/file_path", access: "write" }, { pointer: "/files", access: "write" }] } },
      { name: "run", facts: { paths: [{ pointer: "/cwd", access: "write" }], command: "/command" } },
    ],
  );
});

test("a declared path of another tool is judged", async () => {
  const { cwd, env } = world();
  const link = new HostProcess({ wanted: guardian, cwd, attended: false, env, notify: () => {}, died: () => {} });
  const declared = [{ name: "save", facts: { paths: [{ pointer: "/path", access: "write" as const }] } }];
  const session = new Session(link, "declares", cwd, () => {}, () => declared);
  const calls = new Calls(link, () => session.ready());
  await session.begin("work");
  const permit = (args: object) => calls.permit({ toolCallId: JSON.stringify(args), toolName: "save", args, ctx: {} as any, signal: undefined });
  assert.match(failureText(await permit({ path: "~/.ssh/id_rsa" })), /rule floor.sensitive-path/);
  assert.match(failureText(await permit({ path: "a.txt" })), /nobody is there/);
  await link.stop();
});

test("a denial names the rule, and a missing person is not a broken rule", () => {
  const denied = (content: object) => failureText({ toolCallId: "c", ok: false, isError: true, denied: true, errorCode: "TOOL_DENIED", content });
  assert.match(denied({ error: "policy denies this call", cause: "rule:no-tar", decidedBy: ["no-tar"] }), /\(rule no-tar\): policy denies this call/);
  assert.match(denied({ error: "nobody is there", cause: "reviewer_required" }), /running pi interactively/);
});

test("another directory is another session, and odd ids are digested", async () => {
  assert.equal(sessionIdFor("0198c2f0-aaaa"), "pi-0198c2f0-aaaa");
  assert.match(sessionIdFor("../x"), /^pi-[0-9a-f]{12}$/);
  const { link, cwd, session } = rig();
  const first = await session.ready();
  const elsewhere = path.join(cwd, "sub");
  fs.mkdirSync(elsewhere);
  const second = await new Session(link, "0198c2f0-aaaa", elsewhere, () => {}).ready();
  assert.notEqual(second.sessionId, first.sessionId);
  assert.equal(second.workspace, elsewhere);
  await link.stop();
});

test("a child reaches its parent's guardian for calls, and for nothing that decides", async () => {
  const { cwd, link, session, ready, calls: _calls } = rig();
  fs.writeFileSync(path.join(cwd, "a.txt"), "from the parent\n");
  await session.begin("work");
  const relay = await RelayServer.listen(link, ready);
  const child = await RelayLink.join(relay.path, cwd, () => {});
  const calls = new Calls(child, async () => ({ ...child.place, turnId: undefined }));
  const result = await calls.execute({ toolCallId: "c", toolName: "Read", args: { path: "a.txt" }, ctx: {} as any, signal: undefined });
  assert.equal((result.content as any).content, "from the parent\n");
  const { sessionId } = await ready();
  await assert.rejects(child.request("session.configure", { sessionId, permissionMode: "auto" }), /not for subagents/);
  await assert.rejects(child.request("permissions.resolve", { sessionId, requestId: "r", decision: "allow-once" }), /not for subagents/);
  await assert.rejects(RelayLink.join(relay.path, os.tmpdir(), () => {}), /the parent works in/);
  await child.stop();
  relay.close();
  assert.ok(!fs.existsSync(relay.path));
  await link.stop();
});
