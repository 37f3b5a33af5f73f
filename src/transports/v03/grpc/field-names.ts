/**
 * Refusals of the 1.0 handlers in the words of the 0.3 proto: a path that the caller did not write helps nobody to
 * correct a request (A2A-176).
 */
import type { A2AService } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError, type FieldViolation, invalidParams } from "../../../domain/errors.ts";
import type { Handlers } from "../../../service/call.ts";
import type { PathNames } from "../errors.ts";

/** Sends, and registrations, whose 1.0 form is flat. */
export const sentNames: PathNames = (field) =>
  field
    .replace(/^message\.parts\b/, "message.content")
    .replace(/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotification")
    .replace(/\bauthentication\.scheme$/, "authentication.schemes")
    .replace(/^taskId$/, "parent")
    .replace(/^(url|token|id|authentication\b.*)$/, "config.pushNotificationConfig.$1");

/** Requests whose ids stand in one resource name. */
const resourceNames: PathNames = (field) => (field === "id" || field === "taskId" ? "name" : field);

const listNames: PathNames = (field) => (field === "taskId" ? "parent" : field);

/** The same handlers, with refusals that name the fields of the 0.3 request. */
export function withOldFieldNames(handlers: Handlers<typeof A2AService>): Handlers<typeof A2AService> {
  return {
    ...handlers,
    sendMessage: (...args) => answer(sentNames, handlers.sendMessage(...args)),
    sendStreamingMessage: (...args) => events(sentNames, handlers.sendStreamingMessage(...args)),
    getTask: (...args) => answer(resourceNames, handlers.getTask(...args)),
    cancelTask: (...args) => answer(resourceNames, handlers.cancelTask(...args)),
    subscribeToTask: (...args) => events(resourceNames, handlers.subscribeToTask(...args)),
    createTaskPushNotificationConfig: (...args) =>
      answer(sentNames, handlers.createTaskPushNotificationConfig(...args)),
    getTaskPushNotificationConfig: (...args) =>
      answer(resourceNames, handlers.getTaskPushNotificationConfig(...args)),
    listTaskPushNotificationConfigs: (...args) =>
      answer(listNames, handlers.listTaskPushNotificationConfigs(...args)),
    deleteTaskPushNotificationConfig: (...args) =>
      answer(resourceNames, handlers.deleteTaskPushNotificationConfig(...args)),
  };
}

async function answer<T>(names: PathNames, pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (error) {
    throw renamed(error, names);
  }
}

async function* events<T>(names: PathNames, items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw renamed(error, names);
  }
}

/** The text of InvalidParams begins with its first field, so it is written anew; other errors keep theirs. */
function renamed(error: unknown, names: PathNames): unknown {
  if (!(error instanceof BatonError) || error.violations.length === 0) return error;
  const violations = error.violations.map(
    ({ field, description }): FieldViolation => ({ field: names(field), description }),
  );
  if (error.kind === "InvalidParams") return invalidParams(...violations);
  return new BatonError(error.kind, error.message, {
    violations,
    metadata: error.metadata,
    cause: error.cause,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
  });
}
