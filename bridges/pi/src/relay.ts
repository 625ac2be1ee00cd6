// Child pis (subagents) use their parent's guardian: the parent listens on a socket of its own, the
// child finds it through the environment. The socket speaks for the role agent only: calls, aborts
// and nothing that decides, so that whoever reaches it can do what the model can do, and no more.
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

import type { Link } from "./host.ts";
import { HostGone, type Notify, Peer, readLines, WireError } from "./rpc.ts";
import type { Place } from "./session.ts";
import type { Methods } from "./wire.d.ts";

/** What a child may ask for. */
const FORWARDED = new Set(["tools.execute", "tools.permit", "tools.abort"]);
const PREFIX = /^child(\d+)\//;

/** Which child a call belongs to, from the id that guardian knows it by. */
export const childOf = (toolCallId: string): number | undefined => {
  const match = PREFIX.exec(toolCallId);
  return match ? Number(match[1]) : undefined;
};

interface Child {
  socket: net.Socket;
  running: Set<string>;
}

/** The parent's side. */
export class RelayServer {
  #directory: string;
  #server: net.Server;
  #children = new Map<number, Child>();
  #next = 1;
  #link: Link;
  #ready: () => Promise<Place & { turnId: string | undefined }>;

  private constructor(directory: string, link: Link, ready: () => Promise<Place & { turnId: string | undefined }>) {
    this.#directory = directory;
    this.#link = link;
    this.#ready = ready;
    this.#server = net.createServer((socket) => this.#accept(socket));
    this.#server.unref();
  }

  /** Listens in a directory that only this user can enter. */
  static async listen(link: Link, ready: () => Promise<Place & { turnId: string | undefined }>): Promise<RelayServer> {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "guardian-pi-"));
    const relay = new RelayServer(directory, link, ready);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once("error", reject).listen(relay.path, () => resolve());
    });
    return relay;
  }

  get path(): string {
    return path.join(this.#directory, "parent.sock");
  }

  close(): void {
    this.#server.close();
    for (const child of this.#children.values()) child.socket.destroy();
    fs.rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Passes output on to the child whose call it is. */
  output(params: { toolCallId: string }): void {
    const number = childOf(params.toolCallId);
    const child = number === undefined ? undefined : this.#children.get(number);
    if (child) send(child.socket, { method: "tools.output", params: { ...params, toolCallId: params.toolCallId.replace(PREFIX, "") } });
  }

  #accept(socket: net.Socket): void {
    const number = this.#next++;
    const child: Child = { socket, running: new Set() };
    this.#children.set(number, child);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#children.delete(number);
      // A child that is gone has nobody left who wants the result.
      for (const toolCallId of child.running) void this.#abort(toolCallId);
    });
    readLines(socket, (text) => void this.#answer(number, child, text));
  }

  async #answer(number: number, child: Child, text: string): Promise<void> {
    let id: unknown = null;
    try {
      const message = JSON.parse(text);
      id = message.id ?? null;
      send(child.socket, { id, result: await this.#serve(number, child, message.method, message.params ?? {}) });
    } catch (error) {
      const code = error instanceof WireError ? error.code : "INTERNAL";
      send(child.socket, { id, error: { code: -32000, message: String((error as Error).message ?? error), data: { code } } });
    }
  }

  async #serve(number: number, child: Child, method: string, params: any): Promise<unknown> {
    const place = await this.#ready();
    if (method === "relay.join") {
      const cwd = fs.realpathSync(String(params.cwd));
      if (cwd !== place.workspace) throw new WireError(`the parent works in ${place.workspace}, not in ${cwd}`, "WORKSPACE_REQUIRED");
      return { workspace: place.workspace, scratch: place.scratch };
    }
    if (!FORWARDED.has(method)) throw new WireError(`\`${method}\` is not for subagents`, "UNAUTHORIZED");
    const toolCallId = `child${number}/${params.toolCallId}`;
    if (method === "tools.abort") return this.#link.request("tools.abort", { sessionId: place.sessionId, toolCallId });
    child.running.add(toolCallId);
    try {
      return await this.#link.request(method as "tools.execute", {
        sessionId: place.sessionId,
        ...(place.turnId ? { turnId: place.turnId } : {}),
        toolCallId,
        toolName: String(params.toolName),
        args: params.args,
        ...(typeof params.timeoutMs === "number" ? { timeoutMs: params.timeoutMs } : {}),
      });
    } finally {
      child.running.delete(toolCallId);
    }
  }

  async #abort(toolCallId: string): Promise<void> {
    try {
      const { sessionId } = await this.#ready();
      await this.#link.request("tools.abort", { sessionId, toolCallId });
    } catch {
      // the host is gone, and its calls with it
    }
  }
}

const send = (socket: net.Socket, message: object): void => {
  if (socket.writable) socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
};

/** The child's side. */
export class RelayLink implements Link {
  #peer: Peer;
  #socket: net.Socket;
  readonly place: Place;

  private constructor(socket: net.Socket, peer: Peer, place: Place) {
    this.#socket = socket;
    this.#peer = peer;
    this.place = place;
  }

  /** Joins the parent's guardian. Fails when there is none, or when it works in another directory. */
  static async join(file: string, cwd: string, notify: Notify): Promise<RelayLink> {
    const socket = net.connect(file);
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    const peer = new Peer(socket, socket, notify);
    socket.on("close", () => peer.close(new HostGone("the parent pi and its guardian are gone")));
    try {
      const place = await peer.requestAny("relay.join", { cwd });
      return new RelayLink(socket, peer, { sessionId: "", ...place });
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return this.#peer.request(method, params);
  }

  async connect(): Promise<number> {
    return 1;
  }

  async stop(): Promise<void> {
    this.#socket.end();
  }

  forgive(): void {}
}
