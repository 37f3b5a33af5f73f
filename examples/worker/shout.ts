import { Worker } from "baton-a2a/worker";

const worker = new Worker({
  url: process.env.BATON_URL ?? "http://127.0.0.1:7420",
  credential: process.env.BATON_CREDENTIAL ?? "",
  handler: ({ text }) => text.toUpperCase(),
  onError: (error) => console.error(error.message),
});

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());
await worker.run(stop.signal);
