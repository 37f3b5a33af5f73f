import { Command } from "commander";
import { verdictOf } from "../../worker/errors.ts";
import {
  artifact,
  file,
  RESULT_ARTIFACT,
  type TodoContext,
  Worker,
  type WorkerOptions,
} from "../../worker/index.ts";
import { type ClientOptions, credentialOf, gatewayUrl, withClientOptions } from "../client-options.ts";
import { onEndSignal } from "../end-signals.ts";
import { CliError, EXIT, explainCall } from "../exit.ts";
import { note } from "../output.ts";
import { runShell } from "../run-shell.ts";
import { duration, wholeNumber } from "../values.ts";

interface WorkerCommandOptions extends ClientOptions {
  readonly exec?: string;
  readonly echo?: boolean;
  readonly queue?: string;
  readonly concurrency: number;
  readonly lease?: number;
  readonly claimant?: string;
  readonly grace: number;
}

export function workerCommand(): Command {
  return withClientOptions(new Command("worker"))
    .description("Claim todos and do them, until SIGTERM, SIGINT or SIGHUP.")
    .option(
      "--exec <command>",
      "run a shell command for each: the message on its input, its output is the result",
    )
    .option("--echo", "answer each with its own text")
    .option("--queue <name>", "the queue to work on (default: the only one that the credential is good for)")
    .option("--agent <name>", "stop if the credential turns out to be another agent's")
    .option("--concurrency <n>", "how many at a time", wholeNumber(1, 1000), 1)
    .option("--lease <time>", "how long a crash may go unnoticed", duration)
    .option("--claimant <name>", "name in the attempt history")
    .option("--grace <time>", "how long running work may take to finish at the end", duration, 30)
    .action(work);
}

async function work(options: WorkerCommandOptions): Promise<void> {
  const { exec, echo, json, lease } = options;
  if ((exec === undefined) === (echo !== true)) {
    throw new CliError("What should be done with a todo?", EXIT.usage, "Give either --exec or --echo.");
  }
  const stop = new AbortController();
  onEndSignal(() => {
    note("Stopping: no new todos; running ones may finish.");
    stop.abort();
  });

  const url = gatewayUrl(options);
  const say = (event: Record<string, string | number>, text: string) => {
    if (json === true) process.stdout.write(`${JSON.stringify(event)}\n`);
    else note(text);
  };
  const given: Partial<WorkerOptions> = {
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
    ...(options.claimant === undefined ? {} : { claimant: options.claimant }),
    ...(lease === undefined ? {} : { lease }),
  };
  const worker = new Worker({
    ...given,
    url,
    credential: credentialOf(options),
    concurrency: options.concurrency,
    stopGrace: options.grace,
    handler: (todo) => {
      const { id, title, attempt } = todo.todo;
      say({ event: "claimed", task: id, attempt, title }, `${id}  claimed, attempt ${attempt}: ${title}`);
      return exec === undefined ? todo.text : execute(exec, todo);
    },
    onOutcome: (outcome, { id }, error) => {
      const why = error === undefined ? "" : String(error);
      say(
        { event: outcome, task: id, ...(why === "" ? {} : { error: why }) },
        `${id}  ${outcome} ${why}`.trimEnd(),
      );
    },
    onError: (error, todo) => note(`${todo === undefined ? "" : `${todo.id}  `}${error.message}`),
  });
  note(`Working for ${url}.`);
  try {
    await worker.run(stop.signal);
  } catch (error) {
    if (verdictOf(error) === "again") throw error;
    throw explainCall(error, url, "Vend one with `baton endpoint create --name worker --work`.");
  }
}

async function execute(command: string, context: TodoContext) {
  const { todo, signal, text, traceHeaders } = context;
  const { traceparent, tracestate } = traceHeaders;
  const output = await runShell({
    command,
    input: text,
    environment: {
      BATON_TASK_ID: todo.id,
      BATON_CONTEXT_ID: todo.contextId,
      BATON_AGENT: todo.agent,
      BATON_QUEUE: todo.queue,
      BATON_ATTEMPT: String(todo.attempt),
      // Where OpenTelemetry looks for the trace of a program that was started for a piece of work.
      ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
      ...(tracestate === undefined ? {} : { TRACESTATE: tracestate }),
    },
    signal,
    onStderr: (chunk) => process.stderr.write(chunk),
  });
  if (typeof output !== "string") return artifact(file(output), { id: RESULT_ARTIFACT });
  return output === "" ? undefined : output;
}
