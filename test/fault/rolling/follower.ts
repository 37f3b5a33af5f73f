/** A client that follows one task over every end of its streams, as docs/extensions/resumable-streams.md says. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { type StreamResponse, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { RESUMABLE_STREAMS_URI } from "../../../src/service/resumable-streams.ts";
import { message } from "../../scenarios/actors.ts";
import type { OpenStream, StreamOperation } from "../../scenarios/driver.ts";
import type { NamedDriver } from "./calls.ts";

const LONGEST_PAUSE_MS = 1000;

export class Follower {
  readonly name: string;
  /** Of the task, once known. */
  id = "";
  /** Position of the last item. */
  last = 0;
  /** Events by what they are: `artifact`, `status WORKING`. */
  readonly events = new Map<string, number>();
  lost = 0;
  duplicated = 0;
  /** Streams that ended in order although the task went on: the client takes that for the end (E8). */
  silentEnds = 0;
  reattached = 0;
  /** Tries to come back that found nobody. */
  refused = 0;
  /** Longest time without a stream, in milliseconds. */
  longestGap = 0;
  readonly #driver: NamedDriver;
  readonly #token: string;
  #stream: OpenStream | undefined;
  #stopped = false;

  private constructor(driver: NamedDriver, token: string) {
    this.name = driver.name;
    this.#driver = driver;
    this.#token = token;
  }

  /** Opens the stream, by sending a message where no id is given; resolves when the first item is here. */
  static async open(driver: NamedDriver, token: string, id?: string): Promise<Follower> {
    const follower = new Follower(driver, token);
    if (id === undefined) await follower.#attach("SendStreamingMessage", { message: message("follow me") });
    else await follower.#attach("SubscribeToTask", { id });
    await follower.#take();
    return follower;
  }

  /** Reads until the task has ended. */
  async follow(): Promise<void> {
    let pause = 50;
    let since: number | undefined;
    while (!this.#stopped) {
      try {
        if (this.#stream === undefined) {
          await this.#attach("SubscribeToTask", { id: this.id });
          this.reattached += 1;
          pause = 50;
          if (since !== undefined) this.longestGap = Math.max(this.longestGap, performance.now() - since);
          since = undefined;
        }
        while (await this.#take());
        if (this.events.has("status COMPLETED")) return;
        this.silentEnds += 1;
      } catch {
        if (since !== undefined) this.refused += 1;
      }
      this.#stream = undefined;
      since ??= performance.now();
      await sleep(pause * (0.5 + Math.random() / 2));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#stream?.close();
  }

  async #attach(operation: StreamOperation, request: JsonObject): Promise<void> {
    this.#stream = await this.#driver.driver.stream(operation, request, {
      token: this.#token,
      headers: {
        "a2a-extensions": RESUMABLE_STREAMS_URI,
        ...(this.last === 0 ? {} : { "a2a-last-event-id": String(this.last) }),
      },
    });
  }

  async #take(): Promise<boolean> {
    const item = await this.#stream?.next();
    if (item === undefined) return false;
    const { payload } = item;
    const position = positionOf(item);
    if (payload.case === "task") {
      if (this.id === "") this.id = payload.value.id;
      // Events that are only in the task were missed as events.
      else this.lost += Math.max(0, position - this.last);
    } else {
      if (position > this.last + 1) this.lost += position - this.last - 1;
      else if (position <= this.last) this.duplicated += 1;
      const what =
        payload.case === "statusUpdate"
          ? `status ${TaskState[payload.value.status?.state ?? 0]}`
          : payload.case === "artifactUpdate"
            ? "artifact"
            : String(payload.case);
      this.events.set(what, (this.events.get(what) ?? 0) + 1);
    }
    this.last = Math.max(this.last, position);
    return true;
  }
}

function positionOf({ payload }: StreamResponse): number {
  const mark = payload.value?.metadata?.[RESUMABLE_STREAMS_URI];
  if (typeof mark !== "object" || mark === null || Array.isArray(mark)) throw new Error("no position");
  return Number(mark.eventId);
}
