// Running a client: work folders, environment, process groups.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const env = process.env;

/** Path of a client: its own variable (PI, CLAUDE, CODEX, GEMINI, OPENCODE), else CLIENTS_BIN/<name>, else PATH. */
export function findClient(variable, name) {
  if (env[variable]) return env[variable];
  for (const dir of [env.CLIENTS_BIN, ...(env.PATH ?? "").split(path.delimiter)].filter(Boolean)) {
    const file = path.join(dir, name);
    if (fs.existsSync(file)) return path.resolve(file);
  }
  throw new Error(`${name} not found: install it, then set ${variable} to its path or CLIENTS_BIN to node_modules/.bin`);
}

/** Environment of a client: nothing of the caller's but PATH and the locale; no way out but loopback. */
export function clientEnv(work, more = {}) {
  return {
    PATH: [path.dirname(process.execPath), env.PATH].join(path.delimiter), LANG: env.LANG ?? "C.UTF-8", TERM: "xterm-256color",
    HOME: work.home, TMPDIR: work.tmp, HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1,localhost",
    GIT_CEILING_DIRECTORIES: work.dir, ...more,
  };
}

/** A fresh folder with a project, a home and a place for temporary files. */
export function workFolder(client, scenario) {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `clients-${client}-${scenario}-`)));
  const work = { dir, cwd: path.join(dir, "proj"), home: path.join(dir, "home"), tmp: path.join(dir, "tmp") };
  for (const d of [work.cwd, work.home, work.tmp]) fs.mkdirSync(d);
  // an empty repository of its own: `git reset --hard` must never find one further up
  for (const d of [".git/objects", ".git/refs/heads"]) fs.mkdirSync(path.join(work.cwd, d), { recursive: true });
  fs.writeFileSync(path.join(work.cwd, ".git/HEAD"), "ref: refs/heads/main\n");
  return work;
}

/** Runs a client in its own process group. `onLine(line, write, end)` sees stdout lines; what is left of the group is ended afterwards. */
export async function run(argv, { cwd, env: childEnv, timeoutMs = 90_000, input, onLine }) {
  const child = spawn(argv[0], argv.slice(1), { cwd, env: childEnv, detached: true, stdio: [onLine ? "pipe" : "ignore", "pipe", "pipe"] });
  let stdout = "", stderr = "", rest = "", timedOut = false;
  const endGroup = () => { try { process.kill(-child.pid, "SIGKILL"); } catch { /* already gone */ } };
  const timer = setTimeout(() => { timedOut = true; endGroup(); }, timeoutMs);
  if (onLine) {
    child.stdin.on("error", () => {});
    const write = (message) => child.stdin.write(JSON.stringify(message) + "\n");
    for (const message of input ?? []) write(message);
    child.stdout.on("data", (d) => {
      rest += d;
      for (let i; (i = rest.indexOf("\n")) >= 0;) {
        const line = rest.slice(0, i);
        rest = rest.slice(i + 1);
        if (line.trim()) onLine(line, write, () => child.stdin.end());
      }
    });
  }
  child.stdout.setEncoding("utf8").on("data", (d) => (stdout += d));
  child.stderr.setEncoding("utf8").on("data", (d) => (stderr += d));
  const exitCode = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", () => setTimeout(endGroup, 500)); // children that hold the pipes open must not stop us
    child.on("close", (code) => resolve(code));
  });
  clearTimeout(timer);
  endGroup();
  if (timedOut) throw new Error(`client did not end within ${timeoutMs} ms; stderr: ${stderr.slice(-400)}`);
  return { exitCode, stdout, stderr };
}

export const readLines = (file) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l)) : []);
