import * as z from "zod";
import { todoRow } from "../todo-json.ts";
import { checkedJson, checkedText, json, queue } from "./parameters.ts";
import { defineTool } from "./tool.ts";

const createFor = defineTool({
  name: "create_for",
  description: "Hand work over: makes a todo in a queue, as a message from a peer would.",
  input: z.strictObject({
    queue: queue.describe("A granted queue; absent: the agent's default, or the only one granted."),
    title: z.string().regex(/\S/, "must not be blank").describe("One line that says what is to be done."),
    payload: json.describe("What the work needs, any JSON."),
    idempotency_key: z
      .string()
      .max(255)
      .optional()
      .describe("The same key makes no second todo while the first is live."),
  }),
  async run(services, input, call) {
    const { todo, created } = await services.createFor(
      {
        queue: input.queue,
        title: checkedText("title", input.title),
        payload: checkedJson("payload", input.payload),
        // Empty is the same as none (todo-delegation.md 1.1).
        idempotencyKey: checkedText("idempotency_key", input.idempotency_key ?? "") || undefined,
      },
      call,
    );
    return { todo: todoRow(todo), created };
  },
});

export const CREATING = [createFor];
