// The bridge in real pi, with the real guardian and a scripted model on loopback. Each scenario makes
// the model (or the user) do something and checks what ran, what the model read and what the user saw.
//   node run.mjs [--short] [--list] [--keep] [--show] [scenario ...]        UPDATE=1 writes denials.txt anew
// GUARDIAN_BIN: the executable; CLIENTS_BIN: folder of pi's. PI_OLD=1: pi before `agent_settled`.
import fs from "node:fs";
import path from "node:path";
import { clientEnv, findClient, readLines, run, workFolder } from "./driver.mjs";
import { start } from "./mock-openai-chat.mjs";

const here = import.meta.dirname;
const bridge = path.join(here, "../../src/index.ts");
const guardian = process.env.GUARDIAN_BIN;
// The README's texts are those of these runs.
const readme = process.env.README && fs.readFileSync(process.env.README, "utf8");
const own = (name) => path.join(here, name);

const POLICY = `version = 1
[[rule]]
id = "everyday"
effect = "allow"
tool = "Bash"
command = [["touch", "echo", "sleep", "cat", "seq", "false", "exit"]]
[[rule]]
id = "our-files"
effect = "allow"
tool = ["Bash", "Write", "Edit"]
paths = ["**"]
[[rule]]
id = "no-tar"
effect = "deny"
command = ["tar"]
reason = "archives are made by the release job"
`;
const ALLOW = "touch made.txt; echo hi", DENY = "tar --version; touch made.txt", ASK = "git reset --hard; touch made.txt";

const call = (...tools) => ({ tools: tools.map((t, i) => ({ id: `call_${i + 1}`, ...t })) });
const bash = (command, more) => [call({ name: "bash", args: { command, ...more } }), { text: "done" }];
const print = ["-p", "go"], json = ["--mode", "json", "go"], rpc = ["--mode", "rpc"];
const prompt = [{ id: "p1", type: "prompt", message: "go" }];
const isDialog = (m) => m.type === "extension_ui_request" && m.method === "select";
const picks = (option) => (m, write) => isDialog(m) && write({ type: "extension_ui_response", id: m.id, ...(option === undefined ? { cancelled: true } : { value: option }) });
const command = (text) => ({ id: "c1", type: "prompt", message: text });
const notices = (r) => r.ui.filter((m) => m.method === "notify").map((m) => m.message).join("\n");

// what has to hold of a scenario's report
const ran = (r, ...files) => files.length ? files.every((f) => r.files.includes(f)) || `did not run: ${r.files}` : r.files.length === 0 || `ran: ${r.files}`;
const reads = (r, pattern) => pattern.test(r.text ?? "") || `the model read: ${r.text}`;
const says = (r, pattern) => pattern.test(notices(r)) || `the user was told: ${notices(r)}`;
const asked = (r, count) => r.ui.filter((m) => m.method === "select").length === count || `dialogs: ${JSON.stringify(r.ui.filter((m) => m.method === "select"))}`;
const record = (r, test, what) => r.audit.some(test) || `not on record: ${what} in ${JSON.stringify(r.audit.map((row) => [row.event, row.toolName, row.decision, row.cause, row.decidedBy]))}`;

/** `short`: what CI runs. `denial`: the text is kept in denials.txt. */
const scenarios = {
  "allow": { short: true, turns: bash(ALLOW), args: print, check: (r) => [ran(r, "made.txt"), reads(r, /^hi\n?$/), record(r, (row) => row.toolName === "Bash" && row.event === "call" && row.ok, "the call")] },
  "deny": { short: true, denial: true, turns: bash(DENY), args: print, check: (r) => [ran(r), reads(r, /no-tar.*archives are made by the release job/s), record(r, (row) => row.decision === "deny" && row.toolName === "Bash", "the denial")] },
  "ask-no-ui": { short: true, readme: true, denial: true, turns: bash(ASK), args: print, check: (r) => [ran(r), reads(r, /nobody is there.*running pi interactively/s)] },
  "ask-allowed": { short: true, readme: true, turns: bash(ASK), args: rpc, rpc: prompt, on: picks("Allow once"), check: (r) => [ran(r, "made.txt"), asked(r, 1), record(r, (row) => row.decidedBy === "human", "the answer")] },
  "ask-denied": { denial: true, turns: bash(ASK), args: rpc, rpc: prompt, on: picks("Deny"), check: (r) => [ran(r), asked(r, 1), reads(r, /the user denied permission/)] },
  "ask-cancelled": { turns: bash(ASK), args: rpc, rpc: prompt, on: picks(undefined), check: (r) => [ran(r), reads(r, /denied/)] },
  "ask-other-words": { turns: bash(ASK), args: rpc, rpc: prompt, on: picks("allow once"), check: (r) => [ran(r), reads(r, /denied/)] },
  "ask-aborted": { turns: bash(ASK), args: rpc, rpc: prompt, on: (m, w) => isDialog(m) && w({ id: "a", type: "abort" }), check: (r) => [ran(r), reads(r, /abort/i)] },
  "late-change": { short: true, denial: true, turns: bash(ALLOW), args: print, extensions: [own("late-change.ts")], env: { LATE_COMMAND: "touch changed.txt" }, check: (r) => [ran(r), reads(r, /changed the arguments/), record(r, (row) => row.event === "client.arguments-changed", "the change")] },
  "missing": { short: true, denial: true, turns: bash(ALLOW), args: print, guardian: "/nonexistent/guardian", check: (r) => [ran(r), reads(r, /GUARDIAN_BIN/)] },
  "broken": { turns: bash(ALLOW), args: print, guardian: "/bin/false", check: (r) => [ran(r), reads(r, /without it nothing runs/)] },
  "missing-user-bash": { turns: [{ text: "done" }], args: rpc, guardian: "/nonexistent/guardian", rpc: [{ id: "b1", type: "bash", command: ALLOW }], until: (m) => m.type === "response" && m.id === "b1", noModel: true, check: (r) => [ran(r)] },
  "killed-before": { turns: bash(ALLOW), args: print, extensions: [own("kill-guardian.ts")], env: { KILL_WHEN: "before" }, check: (r) => [ran(r, "made.txt"), reads(r, /hi/), record(r, (row) => row.event === "call" && row.ok, "the call of the new host")] },
  "killed-during": { short: true, turns: [call({ name: "bash", args: { command: "echo started; sleep 20; touch made.txt" } }), call({ name: "bash", args: { command: "touch changed.txt" } }), { text: "done" }], args: rpc, rpc: prompt, extensions: [own("kill-guardian.ts")], env: { KILL_WHEN: "during" }, check: (r) => [ran(r, "changed.txt"), !r.files.includes("made.txt") || "the command went on", reads(r, /in flight/), says(r, /blocked until guardian runs/)] },
  "broken-policy": { denial: true, turns: bash(ALLOW), args: rpc, rpc: prompt, policy: "version = 1\n[[rule]\n", on: picks("Deny"), check: (r) => [ran(r), says(r, /policy\.toml/)] },
  "exit-3": { turns: bash("touch made.txt; echo out; echo err >&2; exit 3"), args: json, check: (r) => [ran(r, "made.txt"), reads(r, /out\n(.|\n)*Command exited with code 3/), r.isError[0] === true || "no error"] },
  "timeout": { turns: bash("touch made.txt; echo a; sleep 50", { timeout: 1 }), args: json, check: (r) => [reads(r, /a\n(.|\n)*timed out after 1 seconds/), r.ms < 45_000 || "it was waited for"] },
  "abort": { turns: bash("touch made.txt; echo started; sleep 50"), args: rpc, rpc: prompt, on: (m, w) => m.type === "tool_execution_update" && JSON.stringify(m).includes("started\\n") && w({ id: "a", type: "abort" }), check: (r) => [reads(r, /started(.|\n)*Command aborted/), r.ms < 45_000 || "it was waited for"] },
  "long-output": { args: json, turns: [call({ name: "bash", args: { command: "touch made.txt; seq 5000" } }), { text: "done" }], check: (r) => [ran(r, "made.txt"), reads(r, /4999\n5000\n(.|\n)*Full output: <work>\/data\/scratch\/[^/]+\/tool-output\/pi-bash/)] },
  "parallel": { turns: [call(...[1, 2, 3].map((i) => ({ name: "bash", args: { command: i === 2 ? "tar --version; touch changed.txt" : `touch made.txt; sleep 0.${i}; echo p${i}` } }))), { text: "done" }], args: json, check: (r) => [ran(r, "made.txt"), !r.files.includes("changed.txt") || "the denied one ran", reads(r, /p1(.|\n)*no-tar(.|\n)*p3/)] },
  "nested": { args: ["--tools", "+codemode", ...json], extensions: ["builtin:codemode"], turns: [call({ name: "codemode", args: { code: `const a = await tools.bash({command: ${JSON.stringify(ALLOW)}}); let b; try { b = await tools.bash({command: "tar --version; touch changed.txt"}); } catch (e) { b = "ERR " + e.message; } return [a, b];` } }), { text: "done" }], check: (r) => [ran(r, "made.txt"), !r.files.includes("changed.txt") || "the denied one ran", reads(r, /no-tar/), record(r, (row) => row.toolCallId === "call_1/2" && row.decision === "deny", "the nested denial")] },
  "bad-arguments": { args: json, turns: [call({ name: "bash", args: { cmd: "x" } }, { name: "nosuch", args: {} }), { text: "done" }], check: (r) => [ran(r), r.isError.every(Boolean) || "no errors"] },
  "files": { args: json, turns: [call({ name: "write", args: { path: "made.txt", content: "one\nextra\n" } }), call({ name: "edit", args: { path: "@made.txt", edits: [{ oldText: "one", newText: "two" }] } }), call({ name: "read", args: { path: "made.txt" } }), call({ name: "grep", args: { pattern: "two" } }), call({ name: "find", args: { pattern: "*.txt" } }), call({ name: "ls", args: {} }), { text: "done" }], check: (r) => [ran(r, "made.txt"), reads(r, /Successfully wrote to made\.txt\n---\nSuccessfully replaced 1 block\(s\) in @made\.txt\.\n---\ntwo\nextra\n\n---\nmade\.txt:1: two\n---\nmade\.txt\n---\n\.git\/\nmade\.txt/)] },
  "secret": { denial: true, args: json, turns: [call({ name: "read", args: { path: "@~/.ssh/id_ed25519" } }), { text: "done" }], prepare: (work) => { fs.mkdirSync(path.join(work.home, ".ssh")); fs.writeFileSync(path.join(work.home, ".ssh/id_ed25519"), "KEY"); }, check: (r) => [reads(r, /denied/), !/KEY/.test(r.text) || "it was read"] },
  "foreign": { denial: true, turns: [call({ name: "make_file", args: { path: "made.txt" } }), { text: "done" }], args: json, extensions: [own("foreign.ts")], check: (r) => [ran(r), reads(r, /nobody is there/)] },
  "foreign-allowed": { short: true, turns: [call({ name: "make_file", args: { path: "made.txt" } }), { text: "done" }], args: rpc, rpc: prompt, on: picks("Allow once"), extensions: [own("foreign.ts")], check: (r) => [ran(r, "made.txt"), asked(r, 1), record(r, (row) => row.event === "client.tool-finished", "its end")] },
  "rival": { denial: true, turns: bash(ALLOW), args: json, before: [own("rival.ts")], env: { RIVAL_WHEN: "session_start" }, check: (r) => [ran(r), !/RIVAL/.test(r.text) || "the rival ran", reads(r, /taken over/)] },
  "user-bash": { short: true, turns: [{ text: "done" }], args: rpc, rpc: [{ id: "b1", type: "bash", command: ALLOW }], until: (m) => m.type === "response" && m.id === "b1", noModel: true, check: (r) => [ran(r, "made.txt"), r.bash?.output === "hi\n" || JSON.stringify(r.bash), record(r, (row) => row.toolName === "Bash" && row.ok, "the call")] },
  "user-bash-deny": { denial: true, turns: [{ text: "done" }], args: rpc, rpc: [{ id: "b1", type: "bash", command: DENY }], until: (m) => m.type === "response" && m.id === "b1", noModel: true, check: (r) => [ran(r), reads(r, /no-tar/)] },
  "rollback": { short: true, readme: true, turns: [call({ name: "write", args: { path: "made.txt", content: "one\n" } }), { text: "done" }], args: rpc, rpc: prompt, on: (m, w) => m.type === (process.env.PI_OLD === "1" ? "agent_end" : "agent_settled") && w(command("/guardian rollback last")), until: (m) => m.type === "extension_ui_request" && m.method === "notify" && /taken back/.test(m.message), check: (r) => [ran(r), says(r, /made\.txt: taken back/)] },
  "commands": { turns: [{ text: "done" }], noModel: true, args: rpc, rpc: [command("/guardian mode auto"), command("/guardian grants"), command("/guardian policy"), command("/guardian audit 3"), command("/guardian nonsense")], until: (m) => m.type === "extension_ui_request" && m.method === "notify" && /no `\/guardian nonsense`/.test(m.message), check: (r) => [says(r, /Mode: auto/), says(r, /No grants/), says(r, /Preset standard, 3 rule/), r.ui.some((m) => m.method === "setStatus" && m.statusText === "guardian: auto") || `status: ${JSON.stringify(r.ui.filter((m) => m.method === "setStatus"))}`] },
  "subagent": { turns: [call({ name: "subagent", args: { task: "go" } }), call({ name: "bash", args: { command: ALLOW } }, { name: "bash", args: { command: "git reset --hard; touch changed.txt" } }), { text: "child done" }, { text: "done" }], args: rpc, rpc: prompt, on: picks("Allow once"), child: true, extensions: [own("subagent.ts")], check: (r) => [ran(r, "made.txt", "changed.txt"), asked(r, 2), r.ui.some((m) => m.method === "select" && /Subagent 1 asks/.test(m.title)) || "the card does not name the subagent", record(r, (row) => row.toolCallId === "child1/call_1" && row.ok, "the child's call")] },
  "package": { turns: bash(ALLOW), args: print, package: true, check: (r) => [ran(r, "made.txt")] },
};

async function runScenario(name, scenario) {
  const work = workFolder("pi", name), started = Date.now();
  const mock = await start(scenario.turns);
  try {
    const pi = findClient("PI", "pi");
    const agent = path.join(work.home, "agent"), sessions = path.join(work.dir, "sessions"), data = path.join(work.dir, "data");
    const policies = path.join(work.home, ".config/guardian");
    for (const directory of [agent, policies]) fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(policies, "policy.toml"), scenario.policy ?? POLICY);
    fs.writeFileSync(path.join(agent, "models.json"), JSON.stringify({ providers: { mock: { baseUrl: `http://127.0.0.1:${mock.port}/v1`, api: "openai-completions", apiKey: "dummy", models: [{ id: "mock-1" }] } } }));
    scenario.prepare?.(work);
    const base = [pi, "--model", "mock/mock-1"];
    const extension = ["-ne", "-e", bridge];
    const env = clientEnv(work, {
      PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", GUARDIAN_BIN: scenario.guardian ?? guardian, GUARDIAN_DATA_DIR: data, ...scenario.env,
      ...(scenario.child ? { CHILD_ARGV: JSON.stringify([...base, "--no-session", ...extension, "--mode", "json", "-p"]) } : {}),
    });
    if (scenario.package) {
      const installed = await run([pi, "install", path.join(here, "../..")], { cwd: work.cwd, env });
      if (installed.exitCode !== 0) throw new Error(`pi install failed: ${installed.stderr.slice(0, 400)}`);
    }
    const load = (files = []) => files.flatMap((file) => ["-e", file]);
    const argv = [...base, ...scenario.args, "--session-dir", sessions, ...load(scenario.before), ...(scenario.package ? [] : extension), ...load(scenario.extensions)];
    const ui = [], settled = process.env.PI_OLD === "1" ? "agent_end" : "agent_settled";
    let userBash;
    const { exitCode, stdout, stderr } = await run(argv, { cwd: work.cwd, env, timeoutMs: 60_000, input: scenario.rpc, ...(scenario.rpc ? { onLine: (line, write, end) => {
      const m = JSON.parse(line);
      if (m.type === "extension_ui_request") ui.push(m);
      if (m.type === "response" && m.command === "bash") userBash = m.data ?? { output: m.error, exitCode: null };
      scenario.on?.(m, write);
      if (scenario.until ? scenario.until(m) : m.type === settled) end();
    } } : {}) });
    const session = fs.existsSync(sessions) ? fs.readdirSync(sessions, { recursive: true }).filter((f) => f.endsWith(".jsonl")).flatMap((f) => readLines(path.join(sessions, f))) : [];
    const results = session.filter((entry) => entry.message?.role === "toolResult").map((entry) => entry.message);
    const textOf = (result) => result.content.map((block) => block.text ?? "").join("");
    const text = (userBash?.output ?? results.map(textOf).join("\n---\n")).replaceAll(work.dir, "<work>").replaceAll(here, "<e2e>");
    if (!mock.requests.length && !scenario.noModel) throw new Error(`no model request; stderr: ${stderr.slice(0, 600)}`);
    const audit = fs.existsSync(data) ? await auditOf(env) : [];
    const report = {
      text, ui, exitCode, stdout, stderr, audit, bash: userBash, isError: results.map((result) => result.isError),
      files: ["made.txt", "changed.txt"].filter((file) => fs.existsSync(path.join(work.cwd, file))), ms: Date.now() - started,
    };
    const problems = scenario.check(report).filter((problem) => problem !== true);
    const shown = [text, ...ui.filter((m) => m.method === "select" || m.method === "notify").map((m) => m.title ?? m.message)];
    if (readme && scenario.readme && !shown.some((one) => readme.includes(one.replaceAll(work.cwd, "~/project").trim()))) {
      problems.push(`the README does not show what is shown now:\n${shown.join("\n")}`);
    }
    if (problems.length && stderr) problems.push(`stderr: ${stderr.slice(-600)}`);
    if (process.argv.includes("--show")) console.log(ui.filter((m) => m.method === "select" || m.method === "notify").map((m) => [m.title ?? m.message, ...(m.options ?? []).map((o) => `  > ${o}`)].join("\n")).join("\n"));
    return { text, ms: report.ms, problems };
  } catch (error) {
    return { text: "", ms: Date.now() - started, problems: [String(error?.stack ?? error)] };
  } finally {
    mock.close();
    if (process.argv.includes("--keep")) console.log(`${name}: ${work.dir}`);
    else fs.rmSync(work.dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What guardian has on record, by its own command. */
async function auditOf(env) {
  const { stdout } = await run([guardian, "audit", "--json", "--limit", "200"], { cwd: "/", env });
  return stdout.split("\n").filter(Boolean).flatMap((line) => { const value = JSON.parse(line); return value.rows ?? value; });
}

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const short = process.argv.includes("--short");
if (process.argv.includes("--list")) { console.log(Object.keys(scenarios).join("\n")); process.exit(0); }
if (!guardian) { console.error("GUARDIAN_BIN is not set"); process.exit(2); }
const names = words.length ? words : Object.keys(scenarios).filter((name) => !short || scenarios[name].short);
const unknown = names.filter((name) => !scenarios[name]);
if (unknown.length) { console.error(`no scenario ${unknown.join(", ")}`); process.exit(2); }

const reports = new Map(), queue = [...names];
const worker = async () => {
  for (let name = queue.shift(); name; name = queue.shift()) {
    const report = await runScenario(name, scenarios[name]);
    reports.set(name, report);
    console.log(`${report.problems.length ? "FAIL" : "ok  "} ${name} (${report.ms} ms)`);
    for (const problem of report.problems) console.log(`     ${problem}`);
  }
};
await Promise.all([worker(), worker(), worker()]);

// the sentences that a model reads, as a reviewer should see them
const kept = path.join(process.env.DENIALS_OUT ?? here, "denials.txt");
const before = new Map((fs.existsSync(kept) ? fs.readFileSync(kept, "utf8") : "").split(/^## /m).slice(1).map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n") + 1).trimEnd()]));
let changed = 0;
for (const name of names.filter((one) => scenarios[one].denial)) {
  const text = (reports.get(name)?.text ?? "").trimEnd();
  if (process.env.UPDATE === "1") before.set(name, text);
  else if (before.get(name) !== text) { changed += 1; console.log(`FAIL ${name}: the model now reads\n${text}\n     instead of\n${before.get(name)}`); }
}
if (process.env.UPDATE === "1") {
  const parts = Object.keys(scenarios).filter((name) => before.has(name)).map((name) => `## ${name}\n${before.get(name)}\n`);
  fs.writeFileSync(kept, `# What the model reads when a call did not run (written by UPDATE=1)\n\n${parts.join("\n")}`);
}
const failed = [...reports.values()].filter((report) => report.problems.length).length + changed;
console.log(`${names.length} scenarios, ${failed} failed`);
process.exit(failed ? 1 : 0);
