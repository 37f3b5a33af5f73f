/** Resource names of 0.3: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{config id}`. Ids are not escaped in them. */
import { invalidParams } from "../../../../domain/errors.ts";

const TASKS = "tasks/";
const CONFIGS = "/pushNotificationConfigs";

/** A push config by name; the config id is empty where the name ends before it. */
export interface ConfigName {
  readonly taskId: string;
  readonly configId: string;
}

export function taskName(taskId: string): string {
  return `${TASKS}${taskId}`;
}

export function configName(taskId: string, configId: string): string {
  return `${TASKS}${taskId}${CONFIGS}/${configId}`;
}

/** The id in `tasks/{id}`. `field` is named when the text is no such name. Throws InvalidParams. */
export function taskIdOf(name: string, field: string): string {
  const id = name.startsWith(TASKS) ? name.slice(TASKS.length) : "";
  if (id === "") throw invalidParams({ field, description: "must be tasks/{id}" });
  return id;
}

/**
 * The ids in the name of a push config. Clients also send the collection (`.../pushNotificationConfigs`, with or without
 * a slash at its end) or the bare task, which leave the config id empty. Throws InvalidParams.
 */
export function parseConfigName(name: string, field: string): ConfigName {
  const rest = taskIdOf(name, field);
  const at = rest.indexOf(CONFIGS);
  if (at < 0) return { taskId: rest, configId: "" };
  const configId = rest.slice(at + CONFIGS.length);
  if (at === 0 || (configId !== "" && !configId.startsWith("/"))) {
    throw invalidParams({ field, description: "must be tasks/{id}/pushNotificationConfigs/{id}" });
  }
  return { taskId: rest.slice(0, at), configId: configId.slice(1) };
}
