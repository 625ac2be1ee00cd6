// The process `guardian serve`: started on first need, started again when it died.
import { type ChildProcess, spawn } from "node:child_process";

import { findGuardian } from "./find.ts";
import { HostGone, type Notify, Peer } from "./rpc.ts";
import type { Methods } from "./wire.d.ts";

/** Where calls go: guardian itself, or the guardian of a parent pi. */
export interface Link {
  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  /** Connects if nothing is connected. The number changes with each new host, whose turns and ids are its own. */
  connect(): Promise<number>;
  /** Ends the connection. Cards are denied, calls end, their processes are gone when this returns. */
  stop(): Promise<void>;
  /** Forgets that starting failed. */
  forgive(): void;
}

export interface HostOptions {
  /** Path that the user named. */
  wanted?: string | undefined;
  cwd: string;
  /** There is a user who can be asked. */
  attended: boolean;
  env?: NodeJS.ProcessEnv;
  notify: Notify;
  /** It ended without being told to. */
  died(why: string): void;
}

/** Name of the variable by which a child pi finds its parent's guardian; never handed to guardian. */
export const PARENT_VARIABLE = "GUARDIAN_PI_PARENT";
/** After a failed start, how long calls are refused without trying again. */
const PATIENCE_MS = 2000;
/** How long an orderly end may take; guardian itself ends the processes of running commands. */
const END_WITHIN_MS = 5000;

export class HostProcess implements Link {
  #options: HostOptions;
  #generation = 0;
  #starting: Promise<void> | undefined;
  #running: { child: ChildProcess; peer: Peer } | undefined;
  #failed: { error: Error; at: number } | undefined;
  #stopped = false;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async connect(): Promise<number> {
    if (this.#stopped) throw new HostGone("guardian was stopped with its session");
    if (this.#running) return this.#generation;
    if (this.#failed && Date.now() - this.#failed.at < PATIENCE_MS) throw this.#failed.error;
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    await this.#starting;
    return this.#generation;
  }

  async request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    if (!this.#running) await this.connect();
    if (!this.#running) throw new HostGone("guardian ended");
    return this.#running.peer.request(method, params);
  }

  forgive(): void {
    this.#failed = undefined;
  }

  /** Process id of the running host. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const running = this.#running;
    if (!running) return;
    const ended = new Promise<void>((resolve) => running.child.once("exit", () => resolve()));
    running.child.stdin?.end();
    const timer = setTimeout(() => running.child.kill("SIGKILL"), END_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }

  async #start(): Promise<void> {
    try {
      await this.#startOnce();
      this.#failed = undefined;
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      this.#failed = { error: failure, at: Date.now() };
      throw failure;
    }
  }

  async #startOnce(): Promise<void> {
    const { wanted, cwd, attended, notify, died } = this.#options;
    const program = findGuardian(wanted, cwd);
    const env = { ...(this.#options.env ?? process.env) };
    delete env[PARENT_VARIABLE];
    const child = spawn(program, ["serve"], { stdio: ["pipe", "pipe", "pipe"], env, cwd });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4096)));
    const peer = new Peer(child.stdout, child.stdin, notify);
    let ready = false;
    const ended = (how: string) => {
      const last = stderr.trim().split("\n").slice(-3).join("\n");
      const why = `guardian ${how}${last ? `: ${last}` : ""}`;
      peer.close(new HostGone(why));
      if (this.#running?.child === child) this.#running = undefined;
      if (ready && !this.#stopped) died(why);
    };
    child.on("error", (error) => ended(`could not be started (${error.message})`));
    // `close` and not `exit`: what it still wrote has been read by then.
    child.on("close", (code, signal) => ended(signal ? `was ended by ${signal}` : `ended with exit code ${code}`));
    const shake = peer.request("app.handshake", {
      protocolVersion: 1,
      client: { name: "pi", version: "0.1.0" },
      role: "operator",
      capabilities: { review: attended, vision: true },
    });
    await within(shake, 15_000, () => child.kill("SIGKILL"));
    ready = true;
    this.#generation += 1;
    this.#running = { child, peer };
  }
}

/** `promise`, or a failure when it takes longer. */
async function within<T>(promise: Promise<T>, ms: number, late: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late();
      reject(new HostGone(`guardian did not answer within ${ms / 1000} s`));
    }, ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
