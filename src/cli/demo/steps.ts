import { deepStrictEqual } from "node:assert";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type Task,
  TaskState,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { messageText, partText, stateWord } from "../task-text.ts";
import type { Binding } from "./bindings.ts";
import type { Stage } from "./stage.ts";

/** One thing that the demo shows. `run` answers what to tell about it, and rejects unless the result is exactly right. */
export interface Step {
  readonly name: string;
  run(stage: Stage): Promise<readonly string[]>;
}

/** How long a step may wait for something that should be a matter of milliseconds. */
const PATIENCE_MS = 10_000;

export function demoSteps(stage: Stage): readonly Step[] {
  return [...stage.bindings.all.map(sendStep), streamStep, questionStep, cancelStep];
}

function sendStep(binding: Binding): Step {
  return {
    name: `send over ${binding.name}`,
    async run() {
      const text = `Hello over ${binding.name}`;
      const task = taskOf(await binding.send(requestOf(text)));
      check(outline(task), { state: "completed", said: "", artifacts: { result: `You said: ${text}` } });
      check(task.history.map(messageText), [text]);
      return [`> ${text}`, `< completed: You said: ${text}`];
    },
  };
}

const streamStep: Step = {
  name: "stream a task as it happens",
  async run({ bindings }) {
    const seen: string[] = [];
    let id = "";
    for await (const { payload } of bindings.grpc.sendStreamingMessage(requestOf("Count to three"))) {
      if (payload.case === "task") {
        id = payload.value.id;
        seen.push(`task ${stateWord(payload.value.status?.state)}`);
      } else if (payload.case === "statusUpdate") {
        const { status } = payload.value;
        seen.push(`${stateWord(status?.state)} ${messageText(status?.message)}`.trim());
      } else if (payload.case === "artifactUpdate") {
        const { artifact, lastChunk } = payload.value;
        const chunk = (artifact?.parts ?? []).map(partText).join("");
        seen.push(`${artifact?.artifactId}:${chunk}${lastChunk ? "." : ""}`);
      }
    }
    const wanted = [
      "task submitted",
      "working",
      "working Counting.",
      "numbers:one",
      "numbers: two",
      "numbers: three.",
      "completed",
    ];
    check(seen, wanted);
    const task = await bindings.grpc.getTask({ id });
    check(outline(task).artifacts, { numbers: "one two three" });
    return ["> Count to three", ...seen.map((event) => `< ${event}`)];
  },
};

const questionStep: Step = {
  name: "answer a question",
  async run({ bindings }) {
    const asked = taskOf(await bindings.grpc.sendMessage(requestOf("Paint the door")));
    check(outline(asked), { state: "input-required", said: "Which colour?", artifacts: {} });
    const answered = taskOf(await bindings.grpc.sendMessage(requestOf("green", asked.id)));
    // The reply may be answered while the worker is still at it.
    const done = await until(() => bindings.grpc.getTask({ id: answered.id }), TaskState.COMPLETED);
    check(done.id, asked.id);
    check(outline(done), { state: "completed", said: "", artifacts: { result: "The door is green now." } });
    check(done.history.map(messageText), ["Paint the door", "Which colour?", "green"]);
    return [
      "> Paint the door",
      "< input-required: Which colour?",
      "> green",
      "< completed: The door is green now.",
    ];
  },
};

const cancelStep: Step = {
  name: "cancel a running task",
  async run({ bindings, outcomes }) {
    const { grpc } = bindings;
    const sent = taskOf(await grpc.sendMessage(requestOf("Wait for me", "", true)));
    await until(() => grpc.getTask({ id: sent.id }), TaskState.WORKING);
    const canceled = await grpc.cancelTask({ id: sent.id });
    check(stateWord(canceled.status?.state), "canceled");
    const end = Date.now() + PATIENCE_MS;
    while (!outcomes.has(sent.id) && Date.now() < end) await sleep(20);
    check(outcomes.get(sent.id), "dropped");
    check(outline(await grpc.getTask({ id: sent.id })).state, "canceled");
    return ["> Wait for me", "< working", "> (cancel)", "< canceled; the worker was told and stopped"];
  },
};

function requestOf(text: string, taskId = "", returnImmediately = false): SendMessageRequest {
  return create(SendMessageRequestSchema, {
    message: {
      messageId: crypto.randomUUID(),
      taskId,
      role: Role.USER,
      parts: [{ content: { case: "text", value: text } }],
    },
    configuration: { returnImmediately },
  });
}

function taskOf({ payload }: SendMessageResponse): Task {
  if (payload.case === "task") return payload.value;
  throw new Error(`the answer holds ${payload.case ?? "nothing"} and no task`);
}

/** What is compared of a task. */
function outline(task: Task) {
  return {
    state: stateWord(task.status?.state),
    said: messageText(task.status?.message),
    artifacts: Object.fromEntries(
      task.artifacts.map(({ artifactId, parts }) => [artifactId, parts.map(partText).join("")]),
    ),
  };
}

function check(actual: unknown, wanted: unknown): void {
  deepStrictEqual(actual, wanted);
}

async function until(read: () => Promise<Task>, state: TaskState): Promise<Task> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const task = await read();
    if (task.status?.state === state) return task;
    if (Date.now() > end) throw new Error(`the task stays ${stateWord(task.status?.state)}`);
    await sleep(20);
  }
}
