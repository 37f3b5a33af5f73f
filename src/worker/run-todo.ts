import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Attempt, ClaimRequestSchema, ClaimResponse } from "../../gen/baton/worker/v1/worker_pb.js";
import { artifactsOf } from "./content.ts";
import { HandlerStopped, PermanentFailure } from "./errors.ts";
import { HandlerContext } from "./handler-context.ts";
import type { Hold } from "./hold.ts";
import type { Handler, Outcome } from "./options.ts";

/** What the client reads of an error that was not meant for it; the worker's own account goes to the attempt history. */
const FAILED_ATTEMPT = "The worker could not finish this attempt.";

/** What became of a todo, why it did not complete (see WorkerOptions.onOutcome), and what was claimed along with its end. */
interface Ended {
  readonly outcome: Outcome;
  readonly error?: unknown;
  readonly next?: ClaimResponse | undefined;
}

/**
 * Runs the handler on a todo and delivers what follows from it: a result completes it, an error spends the attempt, a
 * stop of the worker gives it back. Never rejects. `claimNext`: asked when it completes for what to claim in the same call.
 */
export async function runTodo(
  hold: Hold,
  priorAttempts: readonly Attempt[],
  handler: Handler,
  claimNext: () => MessageInitShape<typeof ClaimRequestSchema> | undefined,
): Promise<Ended> {
  const context = new HandlerContext(hold, priorAttempts);
  try {
    const result = await handler(context);
    if (hold.settling) return await settled(hold);
    const next = await context.complete(artifactsOf(result), claimNext());
    return { ...(await settled(hold)), next };
  } catch (error) {
    if (!hold.settling) await afterError(context, hold, error).catch((refusal) => giveUp(hold, refusal));
    return { error, ...(await settled(hold)) };
  }
}

async function afterError(context: HandlerContext, hold: Hold, error: unknown): Promise<void> {
  const reason: unknown = hold.signal.reason;
  if (reason instanceof HandlerStopped) {
    // A stopping worker did not fail at the work: the attempt is not spent.
    if (reason.why === "shutdown") await context.release("the worker was stopped");
    else hold.drop();
    return;
  }
  const permanent = error instanceof PermanentFailure;
  const told = permanent ? error.message : FAILED_ATTEMPT;
  await context.fail({ reason: told, permanent, summary: String(error) });
}

function giveUp(hold: Hold, refusal: unknown): void {
  hold.complain(refusal);
  hold.drop();
}

/** The outcome, once the gateway has it; a handler may have left its own call running. */
async function settled(hold: Hold): Promise<Ended> {
  const outcome = await hold.ended;
  const { reason } = hold.signal;
  const stopped = (outcome === "dropped" || outcome === "released") && reason instanceof HandlerStopped;
  return stopped ? { outcome, error: reason } : { outcome };
}
