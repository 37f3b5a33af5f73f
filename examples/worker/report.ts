import { setTimeout as sleep } from "node:timers/promises";
import { data, HandlerStopped, PermanentFailure, type TodoContext, textOf, Worker } from "baton-a2a/worker";

/** Writes a report in chapters, after asking how long it may be. */
async function report(todo: TodoContext) {
  const topic = todo.text.trim();
  if (topic === "") throw new PermanentFailure("Say what the report is to be about.");
  if (topic.includes("secret")) return todo.reject("I do not write about secrets.");

  const answer = textOf(await todo.requireInput(`How many chapters about ${topic}?`));
  const chapters = Number(answer);
  if (!Number.isInteger(chapters) || chapters < 1) {
    return todo.fail({ reason: `"${answer}" is not a number of chapters.`, permanent: true });
  }

  for (let chapter = 1; chapter <= chapters; chapter += 1) {
    await todo.progress(`Writing chapter ${chapter} of ${chapters}.`);
    // Work that heeds the signal ends at once when the task is canceled.
    await sleep(50, undefined, { signal: todo.signal });
    await todo.appendArtifact("report", `${chapter}. ${topic}\n`, { last: chapter === chapters });
  }
  return data({ topic, chapters });
}

const worker = new Worker({
  url: process.env.BATON_URL ?? "http://127.0.0.1:7420",
  credential: process.env.BATON_CREDENTIAL ?? "",
  handler: report,
  concurrency: 4,
  lease: 60,
  onOutcome: (outcome, { id }, error) => {
    console.log(id, outcome, error instanceof HandlerStopped ? error.why : String(error ?? ""));
  },
  onError: (error) => console.error(error.message),
});

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());
await worker.run(stop.signal);
