// JSON-RPC 2.0 over NDJSON, from the client's side: guardian's stdio, or a parent's socket.
import type { Readable, Writable } from "node:stream";

import type { Methods } from "./wire.d.ts";

/** An error that the host answered. */
export class WireError extends Error {
  override name = "WireError";
  /** Code of guardian's protocol, e.g. `SESSION_NOT_FOUND`. */
  code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The host is gone: what was asked is unanswered. */
export class HostGone extends Error {
  override name = "HostGone";
}

export type Notify = (method: string, params: any) => void;

/** Splits a stream into lines at LF only (U+2028 is no line end). */
export function readLines(stream: Readable, line: (text: string) => void): void {
  let pieces: string[] = [];
  stream.setEncoding("utf8").on("data", (data: string) => {
    let start = 0;
    for (let end = data.indexOf("\n"); end >= 0; end = data.indexOf("\n", start)) {
      pieces.push(data.slice(start, end));
      start = end + 1;
      const text = pieces.join("");
      pieces = [];
      if (text.trim()) line(text);
    }
    if (start < data.length) pieces.push(data.slice(start));
  });
}

/** One connection. Every request ends in exactly one answer, or in the reason why there is none. */
export class Peer {
  #next = 1;
  #waiting = new Map<number, { resolve(value: any): void; reject(error: Error): void }>();
  #gone: Error | undefined;
  #output: Writable;

  constructor(input: Readable, output: Writable, notify: Notify) {
    this.#output = output;
    output.on("error", () => {}); // the end of the input says it
    readLines(input, (text) => {
      let message: any;
      try {
        message = JSON.parse(text);
      } catch {
        return this.close(new HostGone("guardian wrote something that is not its protocol"));
      }
      if (message.method !== undefined) return notify(message.method, message.params);
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) waiting?.reject(new WireError(message.error.message, message.error.data?.code ?? "INTERNAL"));
      else waiting?.resolve(message.result);
    });
  }

  request<M extends keyof Methods>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return this.requestAny(method, params);
  }

  requestAny(method: string, params: unknown): Promise<any> {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#output.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  }

  /** Nothing is answered any more. */
  close(why: Error): void {
    this.#gone ??= why;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#gone);
    this.#waiting.clear();
  }
}
