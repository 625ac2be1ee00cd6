// Calls on their way to guardian: aborts, output, and what a host that dies leaves.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

import type { Link } from "./host.ts";
import { HostGone } from "./rpc.ts";
import type { Place } from "./session.ts";
import { diedDuring, notRun } from "./words.ts";
import type { ExecuteResult } from "./wire.d.ts";

export type Ready = () => Promise<Place & { turnId: string | undefined }>;

export interface Call {
  toolCallId: string;
  toolName: string;
  args: unknown;
  ctx: ExtensionContext;
  signal: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** Output of a command while it runs. */
  output?: (chunk: string) => void;
  /** The user's own command belongs to no prompt. */
  outsideTurn?: boolean;
}

interface Running {
  call: Call;
  /** The next number of `tools.output`; a gap is a dropped chunk. */
  next: number;
  dropped: boolean;
}

export class Calls {
  #link: Link;
  #ready: Ready;
  #running = new Map<string, Running>();

  constructor(link: Link, ready: Ready) {
    this.#link = link;
    this.#ready = ready;
  }

  /** Judges, asks and runs a tool of guardian. */
  execute(call: Call): Promise<ExecuteResult> {
    return this.#send("tools.execute", call);
  }

  /** Judges and asks about a tool whose body runs in pi. */
  permit(call: Call): Promise<ExecuteResult> {
    return this.#send("tools.permit", call);
  }

  /** The call that a card or a chunk belongs to. */
  find(toolCallId: string): Call | undefined {
    return this.#running.get(toolCallId)?.call;
  }

  /** A notification `tools.output`. */
  output(params: { toolCallId: string; seq: number; chunk: string }): void {
    const running = this.#running.get(params.toolCallId);
    if (!running) return;
    running.dropped ||= params.seq !== running.next;
    running.next = params.seq + 1;
    running.call.output?.(params.chunk);
  }

  async #send(method: "tools.execute" | "tools.permit", call: Call): Promise<ExecuteResult> {
    const { toolCallId, toolName, args, signal, timeoutMs } = call;
    if (signal?.aborted) throw new Error("Operation aborted");
    const place = await this.#ready().catch((error) => {
      throw new Error(notRun(error));
    });
    const running: Running = { call, next: 0, dropped: false };
    this.#running.set(toolCallId, running);
    const abort = () => void this.#link.request("tools.abort", { sessionId: place.sessionId, toolCallId }).catch(() => {});
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const result = await this.#link.request(method, {
        sessionId: place.sessionId,
        toolCallId,
        toolName,
        args,
        ...(place.turnId && !call.outsideTurn ? { turnId: place.turnId } : {}),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
      if (running.dropped) this.#again(call, result);
      return result;
    } catch (error) {
      if (error instanceof HostGone) throw new Error(diedDuring(error.message));
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#running.delete(toolCallId);
    }
  }

  /** The terminal was slower than the command: what guardian kept is shown whole. */
  #again(call: Call, result: ExecuteResult): void {
    const { stdout, stderr } = (result.content ?? {}) as { stdout?: string; stderr?: string };
    call.output?.(`\n[parts of the live output were dropped; all that was kept:]\n${stdout ?? ""}${stderr ?? ""}`);
  }
}
