// pi's session and prompt as guardian's session and turn. Everything durable is in guardian's store;
// after a restart the session is found again there.
import fs from "node:fs";
import { createHash } from "node:crypto";

import type { Link } from "./host.ts";
import { WireError } from "./rpc.ts";
import type { DeclaredToolView, SessionView } from "./wire.d.ts";

/** Which session a link serves, and where it works. */
export interface Place {
  sessionId: string;
  workspace: string;
  scratch: string;
}

/** A session of guardian for a session of pi. */
export class Session {
  #link: Link;
  #piSession: string;
  #cwd: string;
  #changed: (view: SessionView) => void;
  #declare: () => DeclaredToolView[];
  #declaredFor: number | undefined;
  #ready: { generation: number; place: Place; turnId: string | undefined } | undefined;
  #preparing: Promise<void> | undefined;
  #prompt: string | undefined;

  /** `declare` names what other tools touch; asked once per host, before its first turn. */
  constructor(link: Link, piSession: string, cwd: string, changed: (view: SessionView) => void, declare: () => DeclaredToolView[] = () => []) {
    this.#link = link;
    this.#piSession = piSession;
    this.#cwd = cwd;
    this.#changed = changed;
    this.#declare = declare;
  }

  /** Begins a turn with the user's words, ending one that was left. */
  async begin(prompt: string | undefined): Promise<void> {
    await this.end();
    this.#prompt = prompt ?? "";
    await this.ready(true);
  }

  /** Ends the turn, if one runs. */
  async end(): Promise<void> {
    const { place, turnId } = this.#ready ?? {};
    this.#prompt = undefined;
    if (!this.#ready || !place || !turnId) return;
    this.#ready.turnId = undefined;
    await this.#link.request("session.endTurn", { sessionId: place.sessionId, turnId }).catch(() => {});
  }

  /** Session and turn as they have to be for a call, on the host that runs now. */
  async ready(newPrompt = false): Promise<Place & { turnId: string | undefined }> {
    const generation = await this.#link.connect();
    const fits = () => this.#ready?.generation === generation && (this.#prompt === undefined || this.#ready.turnId);
    if (!fits()) {
      this.#preparing ??= this.#prepare(generation, newPrompt).finally(() => (this.#preparing = undefined));
      await this.#preparing;
    }
    if (!this.#ready) throw new Error("guardian has no session");
    return { ...this.#ready.place, turnId: this.#ready.turnId };
  }

  /** The session as guardian has it now. */
  async view(): Promise<SessionView> {
    const { sessionId } = await this.ready();
    return this.show((await this.#link.request("session.get", { sessionId })).session);
  }

  /** Reports a view that came with another answer. */
  show(view: SessionView): SessionView {
    this.#changed(view);
    return view;
  }

  async #prepare(generation: number, newPrompt: boolean): Promise<void> {
    if (this.#ready?.generation !== generation) {
      const view = this.show(await this.#open());
      const place = { sessionId: view.sessionId, workspace: view.workspaceRoot ?? this.#cwd, scratch: view.scratchDir };
      this.#ready = { generation, place, turnId: undefined };
    }
    const ready = this.#ready;
    if (this.#prompt === undefined || ready.turnId) return;
    if (this.#declaredFor !== generation) {
      const tools = this.#declare();
      if (tools.length) await this.#link.request("extractors.register", { tools });
      this.#declaredFor = generation;
    }
    const begin = { sessionId: ready.place.sessionId, userMessage: this.#prompt, newPrompt };
    ready.turnId = (await this.#link.request("session.beginTurn", begin)).turnId;
  }

  /** The session of this pi session in this directory; made when there is none. */
  async #open(): Promise<SessionView> {
    const cwd = fs.realpathSync(this.#cwd);
    const plain = sessionIdFor(this.#piSession);
    // A session is bound to its directory once and for all: another directory is another session.
    for (const sessionId of [plain, `${plain.slice(0, 115)}-${digest(cwd)}`]) {
      const view = await this.#get(sessionId);
      if (!view) return (await this.#link.request("session.create", { sessionId, projectPath: cwd })).session;
      if (view.workspaceRoot === cwd) return view;
    }
    throw new Error(`guardian knows this session with another directory than ${cwd}`);
  }

  async #get(sessionId: string): Promise<SessionView | undefined> {
    try {
      return (await this.#link.request("session.get", { sessionId })).session;
    } catch (error) {
      if (error instanceof WireError && error.code === "SESSION_NOT_FOUND") return undefined;
      throw error;
    }
  }
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** guardian's id for a session of pi: `[A-Za-z0-9_-]`, at most 128. */
export const sessionIdFor = (piSession: string): string =>
  /^[A-Za-z0-9_-]{1,120}$/.test(piSession) ? `pi-${piSession}` : `pi-${digest(piSession)}`;
