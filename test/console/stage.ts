/** A gateway with everything that the console shows: tasks in each state, a worker, pushes, dead letters, requests. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { data, file, PermanentFailure, type TodoContext, textOf, Worker } from "../../src/worker/index.ts";
import { startIssuer, type TestIssuer } from "../identity/issuer.ts";
import { ask, bodyOf, identityOf } from "../identity/people.ts";
import { type PushGateway, startPushGateway } from "../push/gateway.ts";
import { type PushReceiver, respond, startPushReceiver } from "../push/receiver.ts";

const PEOPLE_AUDIENCE = "https://console.example";

export interface Stage {
  readonly gateway: PushGateway;
  /** Answers 204, but for paths below `/refuse`. */
  readonly receiver: PushReceiver;
  /** Sends a text; answers the id of its task. */
  send(
    text: string,
    more?: { readonly queue?: string; readonly refused?: boolean; readonly push?: boolean },
  ): Promise<string>;
  /** Waits until the task is in one of the states; answers the task as JSON. */
  until(id: string, ...states: readonly string[]): Promise<Record<string, unknown>>;
  /** Waits until that many pushes were given up. */
  untilDead(pushes: number): Promise<void>;
  /** A token by which the configured person signs in. */
  personToken(): Promise<string>;
  /** A friend request that waits for a decision; answers its id. */
  askForFriendship(persona: string, reason?: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startStage(document: Record<string, unknown> = {}): Promise<Stage> {
  const undo: (() => Promise<unknown>)[] = [];
  const folder = await mkdtemp(join(tmpdir(), "baton-console-"));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const issuer: TestIssuer = await startIssuer();
  undo.push(async () => issuer[Symbol.asyncDispose]());
  const receiver = await startPushReceiver();
  receiver.answer = (hit, response, ...rest) =>
    respond(hit.path.startsWith("/refuse") ? 500 : 204)(hit, response, ...rest);
  undo.push(() => receiver.close());
  const gateway = await startPushGateway(
    { attempts: 2 },
    {
      identity: await identityOf(issuer, folder),
      onboarding: { perAddress: { perSecond: 10_000, burst: 10_000 } },
      agents: { default: { queues: ["default", "reports"] }, research: { queues: ["default"] } },
      admin: {
        port: 0,
        people: [{ name: "hannah", issuer: issuer.issuer, subject: "h" }],
        audience: PEOPLE_AUDIENCE,
      },
      retries: { maxAttempts: 2, baseSeconds: 0 },
      ...document,
    },
  );
  undo.push(() => gateway.stop(500));

  const worker = new Worker({
    url: gateway.url,
    credential: await gateway.vendWorker({ name: "press", queues: ["default"] }),
    claimant: "press-1",
    handler: work,
    concurrency: 20,
    stopGrace: 0,
  });
  worker.start();
  undo.push(() => worker.stop());

  const queues = ["default", "reports"];
  const client = await gateway.vend({ name: "newsroom", push: true, queues });
  const url = (refused: boolean) => new URL(refused ? "/refuse" : "/hook", receiver.url).href;
  return {
    gateway,
    receiver,
    async send(text, { queue = "default", refused = false, push = refused } = {}) {
      const config = push ? { taskPushNotificationConfig: { url: url(refused) } } : {};
      const { result, error } = await gateway.rpc(client, "SendMessage", {
        message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] },
        configuration: { returnImmediately: true, ...config },
        metadata: { queue },
      });
      if (error !== undefined) throw new Error(JSON.stringify(error));
      return String(result.task.id);
    },
    async until(id, ...states) {
      return poll(`task ${id} is ${states.join(" or ")}`, async () => {
        const { result } = await gateway.rpc(client, "GetTask", { id });
        return states.includes(result?.status?.state) ? result : undefined;
      });
    },
    async untilDead(pushes) {
      await poll(`${pushes} pushes are dead`, async () => {
        const answer = (await (await gateway.admin("ListDeadLetters", {})).json()) as {
          deadLetters?: unknown[];
        };
        return (answer.deadLetters?.length ?? 0) >= pushes ? true : undefined;
      });
    },
    personToken: () => issuer.token({ sub: "h", aud: PEOPLE_AUDIENCE }),
    async askForFriendship(persona, reason = "to hand over reports") {
      const { status, json } = await ask(gateway, await bodyOf(issuer, { from_persona: persona, reason }));
      if (status !== 202) throw new Error(JSON.stringify(json));
      return String(json.request_id);
    },
    async stop() {
      for (const step of undo.splice(0).reverse()) await step();
    },
  };
}

async function poll<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`it never came that ${what}`);
}

/** By the first word: what each kind of task goes through. */
async function work(todo: TodoContext): Promise<string | undefined> {
  switch (todo.text.split(" ")[0]) {
    case "Report": {
      await todo.progress("Reading the figures.");
      await todo.artifact(data({ quarter: "Q3", total: 42 }), { name: "figures" });
      await todo.artifact(
        file(new TextEncoder().encode("a,b\n1,2\n"), { filename: "q3.csv", mediaType: "text/csv" }),
        {
          name: "table",
        },
      );
      return "The report is written.";
    }
    case "Ask":
      return `It is ${textOf(await todo.requireInput("Which colour should the door have?"))} now.`;
    case "Fail":
      throw new PermanentFailure("the paper ran out");
    case "Hold":
      await todo.progress("Holding the line.");
      await new Promise((_, reject) =>
        todo.signal.addEventListener("abort", () => reject(todo.signal.reason)),
      );
      return undefined;
    default:
      return `You said: ${todo.text}`;
  }
}
