import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { A2AService, Role, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** A gRPC client of the A2A service for tests of workers. */
export interface TestClient {
  readonly a2a: Client<typeof A2AService>;
  /** Sends text without waiting; answers the new task's id. */
  send(text: string, taskId?: string): Promise<string>;
  /** Reads a task until it is in one of the states; throws after `ms`. */
  until(id: string, states: readonly TaskState[], ms?: number): Promise<Task>;
  close(): void;
}

export function testClient(url: string, credential: string): TestClient {
  const sessionManager = new Http2SessionManager(url);
  const a2a = createClient(
    A2AService,
    createGrpcTransport({
      baseUrl: url,
      sessionManager,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${credential}`);
          return next(request);
        },
      ],
    }),
  );
  return {
    a2a,
    async send(text, taskId = "") {
      const { payload } = await a2a.sendMessage({
        message: {
          messageId: crypto.randomUUID(),
          taskId,
          role: Role.USER,
          parts: [{ content: { case: "text", value: text } }],
        },
        configuration: { returnImmediately: true },
      });
      if (payload.case !== "task") throw new Error("the answer holds no task");
      return payload.value.id;
    },
    async until(id, states, ms = 10_000) {
      const end = Date.now() + ms;
      for (;;) {
        const task = await a2a.getTask({ id });
        const state = task.status?.state ?? TaskState.UNSPECIFIED;
        if (states.includes(state)) return task;
        if (Date.now() > end) throw new Error(`the task stays ${TaskState[state]}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    close: () => sessionManager.abort(),
  };
}

export function statusText(task: Task): string {
  const content = task.status?.message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

/** The text of every artifact, by id. */
export function artifactTexts(task: Task): Record<string, string> {
  return Object.fromEntries(
    task.artifacts.map(({ artifactId, parts }) => [
      artifactId,
      parts.map(({ content }) => (content.case === "text" ? content.value : `(${content.case})`)).join(""),
    ]),
  );
}
