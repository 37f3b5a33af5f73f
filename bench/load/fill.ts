/** Fills an agent with tasks of an endpoint by the store's own script, many at a time. */
import { randomUUID } from "node:crypto";
import { connectRedis } from "../../src/store/connect-redis.ts";
import { EndpointStore } from "../../src/store/endpoints.ts";
import { TodoStore } from "../../src/store/todos.ts";
import { newTodo } from "../new-todo.ts";
import { ready, startedWith } from "../program.ts";

const AT_ONCE = 256;

const { socketPath } = startedWith<{ socketPath: string }>();
const redis = await connectRedis({ target: { kind: "socket", path: socketPath } });
const todos = new TodoStore(redis);
const endpoints = new EndpointStore(redis);

interface Order {
  readonly agent: string;
  /** Whose tasks they are. */
  readonly credential: string;
  readonly count: number;
}

/** Answers the id of the last task, which is on the first page of a listing. */
async function fill({ agent, credential, count }: Order): Promise<string> {
  const owner = await endpoints.byCredential(credential);
  if (owner === undefined) throw new Error("the credential is none of this Redis");
  const one = async (): Promise<string> => {
    const id = `td_${randomUUID()}`;
    const result = await todos.create(agent, newTodo(id, owner.id));
    if (result.kind !== "created") throw new Error(result.kind);
    return id;
  };
  let left = count - 1;
  const loop = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, loop));
  return one();
}

ready({}, { fill });
