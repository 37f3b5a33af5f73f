import type { JsonValue } from "@bufbuild/protobuf";
import type { WorkerService } from "../../../gen/baton/worker/v1/worker_pb.js";
import type { Caller } from "../../domain/caller.ts";
import type { Call, Handlers, RequestMeta } from "../../service/call.ts";
import type { CreateFor } from "../../service/create-for.ts";
import type { DefaultLeases } from "../../service/default-lease.ts";
import type { OpenStreams } from "../../service/open-streams.ts";
import type { Doorbell } from "../../service/worker/doorbell.ts";
import type { Tracer } from "../../telemetry/tracing/span.ts";

/** What tools call: the handlers that the other bindings call, and nothing of their own. */
export interface ToolServices {
  readonly worker: Handlers<typeof WorkerService>;
  readonly createFor: CreateFor;
  readonly leases: DefaultLeases;
  /** The outcome of a todo that the caller drains. */
  readResult(id: string, call: Call): Promise<JsonValue | undefined>;
  /** Makes a span of each tool call; absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** What the MCP door needs of the gateway. */
export interface McpServices extends ToolServices {
  /** Throws Unauthenticated and RateLimited. */
  authenticate(meta: RequestMeta): Caller | Promise<Caller>;
  /** Charges the endpoint for a request; `sends`: it makes a todo. Throws RateLimited. */
  admit(caller: Caller, sends: boolean): Promise<void>;
  hasAgent(name: string): boolean;
  readonly streams: OpenStreams;
  readonly doorbell: Doorbell;
}
