import { BatonError } from "../../domain/errors.ts";
import type { TodoRecord } from "../../store/todo-records.ts";
import type { TodoStore } from "../../store/todos.ts";

/** Makes a dead todo claimable again (T14). Throws NotFound, and Conflict where it has not failed. */
export async function retryTodo(
  todos: TodoStore,
  agent: string,
  id: string,
  actor: string,
): Promise<TodoRecord> {
  const result = await todos.retry(agent, id, actor);
  if (result.kind === "ok") return result.todo;
  throw result.kind === "notfound"
    ? new BatonError("NotFound", "todo not found")
    : new BatonError("Conflict", "only a todo that failed can be retried");
}
