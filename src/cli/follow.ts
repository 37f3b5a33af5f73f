import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { type StreamResponse, StreamResponseSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../domain/todo.ts";
import { Backoff } from "../worker/backoff.ts";
import { verdictOf } from "../worker/errors.ts";
import type { A2AClient } from "./client-options.ts";
import { stateOfEvent } from "./task-text.ts";

/** How long a gateway may be away in the middle of a watch, in milliseconds. */
const GIVE_UP_MS = 120_000;

export interface FollowOptions {
  /** A stream that is open already, such as that of a send; later ones are subscriptions. */
  readonly opened?: AsyncIterable<StreamResponse>;
  /** Known before the first event; without it the first event tells. */
  readonly taskId?: string;
  /** End at a question to the client, too. */
  readonly endOnInput: boolean;
  /** Told when a stream was cut and is opened again. */
  onCut(error: ConnectError): void;
}

/**
 * The events of a task until it has ended. A cut stream is opened again; its first event is the task as it then is, so
 * nothing is missed. Throws when the first stream cannot be opened, or the gateway stays away.
 */
export async function* follow(client: A2AClient, options: FollowOptions): AsyncGenerator<StreamResponse> {
  const backoff = new Backoff();
  let id = options.taskId ?? "";
  let stream = options.opened ?? client.subscribeToTask({ id });
  let state: TaskState | undefined;
  let heardAt = 0;
  for (;;) {
    try {
      for await (const event of stream) {
        heardAt = Date.now();
        backoff.reset();
        if (event.payload.case === "task") id = event.payload.value.id;
        state = stateOfEvent(event) ?? state;
        yield event;
        if (state !== undefined && isTerminal(state)) return;
      }
      if (options.endOnInput && state === TaskState.INPUT_REQUIRED) return;
    } catch (error) {
      if (hasEnded(error)) {
        const task = await client.getTask({ id });
        yield create(StreamResponseSchema, { payload: { case: "task", value: task } });
        return;
      }
      // Only what was heard once is worth waiting for.
      if (heardAt === 0 || id === "" || verdictOf(error) !== "again" || Date.now() - heardAt > GIVE_UP_MS)
        throw error;
      options.onCut(ConnectError.from(error));
      await backoff.pause(new AbortController().signal);
    }
    stream = client.subscribeToTask({ id });
  }
}

/** The gateway's word that there is nothing to subscribe to. */
function hasEnded(error: unknown): boolean {
  const info = ConnectError.from(error).findDetails(ErrorInfoSchema)[0];
  return info?.reason === "UNSUPPORTED_OPERATION" && info.metadata.taskId !== undefined;
}
