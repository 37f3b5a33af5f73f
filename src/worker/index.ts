/**
 * The worker library of Baton, published as `baton-a2a/worker`: claims todos over gRPC, runs your handler on each,
 * keeps the lease, and delivers the result even when the gateway restarts in between. docs/workers.md shows it in use.
 *
 * @module
 */
export type { Attempt, Todo } from "../../gen/baton/worker/v1/worker_pb.js";
export { TodoState } from "../../gen/baton/worker/v1/worker_pb.js";
export type { Artifact, Message, Part } from "../../gen/lf/a2a/v1/a2a_pb.js";
export {
  type ArtifactLabels,
  artifact,
  type Content,
  data,
  type FileLabels,
  file,
  type HandlerResult,
  link,
  RESULT_ARTIFACT,
  text,
  textOf,
} from "./content.ts";
export type { TodoContext } from "./context.ts";
export { AlreadySettled, HandlerStopped, PermanentFailure, type StopReason } from "./errors.ts";
export type { Handler, Outcome, WorkerOptions } from "./options.ts";
export type { TraceHeaders } from "./trace.ts";
export { Worker } from "./worker.ts";
