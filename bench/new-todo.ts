import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "../gen/lf/a2a/v1/a2a_pb.js";
import type { NewTodo } from "../src/store/todo-records.ts";

export function says(role: Role): Message {
  const parts = [{ content: { case: "text", value: "measure me" } } as const];
  return create(MessageSchema, { messageId: randomUUID(), role, parts });
}

/** What the gateway asks of the store for a short message. `owner`: the id of the endpoint that sent it. */
export function newTodo(id: string, owner: string): NewTodo {
  return {
    id,
    owner,
    scopes: [`e:${owner}`],
    queue: "default",
    contextId: randomUUID(),
    title: "measure me",
    source: "",
    kind: "",
    assignee: "",
    message: says(Role.USER),
    request: new Uint8Array(),
    maxAttempts: 5,
    messageKey: randomUUID(),
    bodyHash: randomUUID(),
    idempotencyKey: "",
    historyLength: -1,
    rejectWith: undefined,
    actor: owner,
  };
}
