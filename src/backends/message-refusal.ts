import { BatonError, invalidParams, taskNotFound } from "../domain/errors.ts";
import { taskTooLarge } from "../domain/task-size.ts";

/** Why a message to a task was not taken, in the words of the stores. */
export type MessageRefusal = "notfound" | "context" | "terminal" | "mismatch" | "full";

/** The one answer to each refusal, whatever does the agent's work (A2A-35, A2A-36, A2A-44, A2A-51). */
export function messageRefused(refusal: MessageRefusal, taskId: string, taskBytes: number): BatonError {
  switch (refusal) {
    case "notfound":
      return taskNotFound(taskId);
    case "context":
      return invalidParams({ field: "message.contextId", description: "is not the context of the task" });
    case "terminal":
      return new BatonError("UnsupportedOperation", "the task has ended and takes no more messages", {
        metadata: { taskId },
      });
    case "full":
      return taskTooLarge("message", taskBytes);
    case "mismatch":
      return messageIdReused();
  }
}

/** The same message id again, with other content (A2A-44). */
export function messageIdReused(): BatonError {
  return invalidParams({ field: "message.messageId", description: "was used before with other content" });
}
