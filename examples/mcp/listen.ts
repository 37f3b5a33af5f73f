import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { BATON_URL: url = "http://127.0.0.1:7420", BATON_CREDENTIAL: credential = "" } = process.env;

const client = new Client({ name: "listener", version: "1.0.0" });
client.fallbackNotificationHandler = async ({ method, params }) => {
  if (method === "notifications/claude/channel") await work(String(params?.content));
};

/** Takes whatever there is: the ring may be about work that is gone by now, and of other work there was no ring. */
async function work(why: string): Promise<void> {
  console.log(why);
  for (;;) {
    const { structuredContent } = await client.callTool({ name: "claim_next", arguments: {} });
    const { empty, todo } = structuredContent as { empty: boolean; todo?: { id: string; title: string } };
    if (empty || todo === undefined) return;
    const result = { shouted: todo.title.toUpperCase() };
    await client.callTool({ name: "complete", arguments: { id: todo.id, result } });
    console.log(`done: ${result.shouted}`);
  }
}

const transport = new StreamableHTTPClientTransport(new URL("/mcp", url), {
  requestInit: { headers: { authorization: `Bearer ${credential}` } },
});
await client.connect(transport);
await work("looking for work that was there before");
// A ring can get lost; the queue loses nothing.
const lookAgain = setInterval(() => work("looking again"), 10_000);
process.once("SIGTERM", () => {
  clearInterval(lookAgain);
  void client.close();
});
