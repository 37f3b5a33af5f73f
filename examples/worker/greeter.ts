import { setTimeout as sleep } from "node:timers/promises";
import { textOf, Worker } from "baton-a2a/worker";

const worker = new Worker({
  url: process.env.BATON_URL ?? "http://127.0.0.1:7420",
  credential: process.env.BATON_CREDENTIAL ?? "",
  concurrency: 4,
  async handler(todo) {
    if (todo.text === "greet me") return `Hello ${textOf(await todo.requireInput("What name?"))}`;
    if (todo.text === "sleep") await sleep(60_000, undefined, { signal: todo.signal });
    return todo.text.toUpperCase();
  },
  onError: (error) => console.error(error.message),
});

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());
await worker.run(stop.signal);
