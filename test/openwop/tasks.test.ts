import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FAULT_TEXT } from "../../examples/openwop-host/faults.ts";
import { eventually, type Json, type RpcClient, sleep } from "./rpc.ts";
import { openwopAgent, type Pair, startPair } from "./setup.ts";

const ADA = { credential: { env: "OPENWOP_TEST_ADA_KEY" }, subject: "ada" };

describe.each([1, 2] as const)("tasks on a host of major %i", (major) => {
  let pair: Pair;
  const clients = new Map<string, RpcClient>();

  beforeAll(async () => {
    pair = await startPair(major, {}, { callers: { ada: ADA } });
  });
  afterAll(() => pair.stop());
  beforeEach(() => {
    pair.host.faults.clear();
    Object.assign(pair.host.state.engine.options, {
      legacyTwins: false,
      bareSuspensions: false,
      cancelDelayMs: 0,
    });
  });

  async function client(agent: string): Promise<RpcClient> {
    const known = clients.get(agent) ?? (await pair.client(agent));
    clients.set(agent, known);
    return known;
  }
  const run = (id: string) => {
    const found = pair.host.state.engine.runs.get(id);
    if (found === undefined) throw new Error(`no run ${id}`);
    return found;
  };
  const events = (id: string): string[] => run(id).events.map(({ type }) => type);

  it("OW-11 OW-17 one send makes one run, whose id is the task's, with the message as its inputs", async () => {
    const before = pair.host.state.engine.created;
    const task = await (await client("echo")).start("hello", { message: { contextId: "ctx-mine" } });
    expect(pair.host.state.engine.created).toBe(before + 1);
    const { made } = run(task.id);
    expect(made.inputs).toEqual({ prompt: "hello" });
    expect(made.tags).toContain("a2a:ctx-mine");
    expect(made.metadata).toMatchObject({ a2a: { contextId: "ctx-mine", role: "user" } });
    expect(task.contextId).toBe("ctx-mine");
    expect(task.history[0]).toMatchObject({ role: "ROLE_USER", taskId: task.id });
    expect(JSON.stringify(task)).not.toContain('"kind"');
  });

  it("OW-18 a blocking send answers when the run has ended, with its artifacts and outputs", async () => {
    const task = await (await client("echo")).start("hello");
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts.map(({ artifactId }: Json) => artifactId)).toEqual(["echo", "output-text"]);
    expect(task.artifacts[1].parts[0].text).toBe("hello");
  });

  it("OW-18 a run that goes on is answered as it is after the agent's own bound, not as an error", async () => {
    const slow = await client("slow");
    const began = Date.now();
    const task = await slow.start();
    expect(task.status.state).toBe("TASK_STATE_WORKING");
    expect(Date.now() - began).toBeGreaterThan(2500);
    expect(Date.now() - began).toBeLessThan(6000);
  });

  it("OW-19 returnImmediately answers on acceptance, and the run goes on alone", async () => {
    const timed = await client("timed");
    const task = await timed.start("300", { configuration: { returnImmediately: true } });
    expect(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).toContain(task.status.state);
    const done = await timed.until(task.id, "TASK_STATE_COMPLETED");
    const ended = run(task.id).events.at(-1);
    expect(Date.parse(done.status.timestamp)).toBe(Date.parse(ended?.timestamp ?? ""));
  });

  it("OW-20 a repeated message finds its task and makes nothing", async () => {
    const echo = await client("echo");
    const message = { messageId: randomUUID() };
    const first = await echo.start("same", { message });
    const before = pair.host.state.engine.created;
    const again = await Promise.all([1, 2, 3].map(() => echo.start("same", { message })));
    expect(again.map(({ id }) => id)).toEqual([first.id, first.id, first.id]);
    expect(pair.host.state.engine.created).toBe(before);
    const clash = await echo.send("other", { message });
    expect(clash.error.code).toBe(-32602);
  });

  it("OW-20 many at once with one message id make one run", async () => {
    const echo = await client("echo");
    const message = { messageId: randomUUID() };
    const before = pair.host.state.engine.created;
    const tasks = await Promise.all(Array.from({ length: 8 }, () => echo.start("race", { message })));
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(pair.host.state.engine.created).toBe(before + 1);
  });

  it("OW-14 a suspended task shows the kind of its interrupt, and never its token or inner data", async () => {
    const task = await (await client("conformance-approval")).start();
    expect(task.metadata.openwop.interrupt).toEqual({
      kind: "approval",
      nodeId: "review",
      actions: ["accept", "reject", "refine", "edit-accept", "ask"],
      title: "Approve the draft",
    });
    expect(JSON.stringify(task)).not.toContain("internal review notes");
    expect(JSON.stringify(task)).not.toContain("int_");
  });

  it("OW-14 OW-16 a credential interrupt is AUTH_REQUIRED, names the provider, and is answered out of band", async () => {
    const credential = await client("credential");
    const task = await credential.start();
    expect(task.status.state).toBe("TASK_STATE_AUTH_REQUIRED");
    expect(task.metadata.openwop.interrupt.kind).toBe("credential");
    expect(task.status.message.parts[0].text).toContain("https://connect.example.com/calendar");
    const reply = await credential.decide(task.id, { anything: 1 });
    expect(reply.error.code).toBe(-32004);
    pair.host.state.engine.advance(run(task.id));
    await credential.until(task.id, "TASK_STATE_COMPLETED");
  });

  it("OW-21 a reply by task id alone is answered in the task's context, and its metadata loses the interrupt", async () => {
    const approval = await client("conformance-approval");
    const task = await approval.start();
    const { result } = await approval.decide(task.id, { action: "accept" });
    expect(result.task).toMatchObject({ id: task.id, contextId: task.contextId });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(result.task.metadata?.openwop?.interrupt).toBeUndefined();
    const roles = result.task.history.map(({ role }: Json) => role);
    expect(roles).toEqual(["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]);
  });

  it("OW-22 a wrong context is refused before the host hears of it", async () => {
    const approval = await client("conformance-approval");
    const task = await approval.start();
    const before = events(task.id).length;
    const { error } = await approval.decide(task.id, { action: "accept" }, { contextId: "another" });
    expect(error.code).toBe(-32602);
    expect(events(task.id)).toHaveLength(before);
    expect(run(task.id).status).toBe("waiting-approval");
  });

  it("OW-23 a message to an ended task is refused and appends nothing", async () => {
    const echo = await client("echo");
    const task = await echo.start();
    const before = events(task.id).length;
    const { error } = await echo.decide(task.id, { action: "accept" });
    expect(error.code).toBe(-32004);
    expect(events(task.id)).toHaveLength(before);
  });

  it("OW-23 a message to a run that waits for nothing is refused, not dropped", async () => {
    const slow = await client("slow");
    const task = await slow.start("x", { configuration: { returnImmediately: true } });
    const { error } = await slow.decide(task.id, { action: "accept" });
    expect(error.code).toBe(-32004);
  });

  it("OW-24 a cancel ends the run; a second one, and one of a finished task, as the protocol says", async () => {
    const slow = await client("slow");
    const task = await slow.start("x", { configuration: { returnImmediately: true } });
    const first = await slow.call("CancelTask", { id: task.id });
    expect(first.result.status.state).toBe("TASK_STATE_CANCELED");
    expect(run(task.id).status).toBe("cancelled");
    const second = await slow.call("CancelTask", { id: task.id });
    expect(second.result.status.state).toBe("TASK_STATE_CANCELED");
    const done = await (await client("echo")).start();
    const refused = await (await client("echo")).call("CancelTask", { id: done.id });
    expect(refused.error.code).toBe(-32002);
  });

  it("OW-24 while the host still cancels, the task is WORKING", async () => {
    pair.host.state.engine.options.cancelDelayMs = 2500;
    const approval = await client("conformance-approval");
    const task = await approval.start();
    const answer = await approval.call("CancelTask", { id: task.id });
    expect(answer.result.status.state).toBe("TASK_STATE_WORKING");
    expect((await approval.task(task.id)).status.state).toBe("TASK_STATE_WORKING");
    await approval.until(task.id, "TASK_STATE_CANCELED");
  });

  it("OW-27 an observer gets the task first, then every change once, and the stream ends with the run", async () => {
    const journey = await client("journey");
    const task = await journey.start();
    const first = journey.stream("SubscribeToTask", { id: task.id });
    const second = journey.stream("SubscribeToTask", { id: task.id });
    await eventually(() => first.items.length > 0 && second.items.length > 0, "both streams open");
    await journey.decide(task.id, { action: "accept" });
    const asked = await journey.until(task.id, "TASK_STATE_INPUT_REQUIRED");
    expect(asked.metadata.openwop.interrupt.kind).toBe("clarification");
    await Promise.all([first.ended, second.ended]);
    const kinds = (items: Json[]) => items.map(({ result }) => Object.keys(result)[0]);
    expect(kinds(first.items)).toEqual(["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    expect(second.items).toEqual(first.items);
    const reattached = journey.stream("SubscribeToTask", { id: task.id });
    await eventually(() => reattached.items.length > 0, "re-attached");
    const reply = await journey.send("Ada", { message: { taskId: task.id } });
    expect(reply.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    await reattached.ended;
    expect(reattached.items.at(-1).result.statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
    const late = await journey.call("SubscribeToTask", { id: task.id });
    expect(late.body.error?.code).toBe(-32004);
  });

  it("OW-28 SendStreamingMessage projects the run as it goes", async () => {
    const echo = await client("echo");
    const stream = echo.stream("SendStreamingMessage", {
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "live" }] },
    });
    await stream.ended;
    const [first] = stream.items;
    expect(first.result.task.id).toBeDefined();
    const states = stream.items.flatMap(({ result }: Json) => result.statusUpdate?.status.state ?? []);
    if (first.result.task.status.state !== "TASK_STATE_COMPLETED") {
      expect(states.at(-1)).toBe("TASK_STATE_COMPLETED");
    }
    expect(new Set(states).size).toBe(states.length);
  });

  it("OW-29 every action of an approval does what it says", async () => {
    const approval = await client("conformance-approval");
    const task = await approval.start();
    const asked = await approval.decide(task.id, { action: "ask", question: "why?" });
    expect(asked.result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const refined = await approval.decide(task.id, {
      action: "refine",
      refineFeedback: { scope: "whole", text: "x" },
    });
    expect(refined.result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(refined.result.task.id).toBe(task.id);
    const edited = await approval.decide(task.id, { action: "edit-accept", editedArtifactData: { a: 1 } });
    expect(edited.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    const other = await approval.start();
    const rejected = await approval.decide(other.id, { action: "reject", feedback: "no" });
    expect(rejected.result.task.status.state).toBe("TASK_STATE_FAILED");
    expect(rejected.result.task.metadata.openwop.error.code).toBe("rejected");
  });

  it("OW-29 a wrong word is refused before the host is called", async () => {
    const approval = await client("conformance-approval");
    const task = await approval.start();
    const before = pair.host.requests.filter(({ path }) => path.includes("/interrupts/")).length;
    for (const value of [
      { action: "approve" },
      { action: "edit" },
      { action: "refine" },
      { verdict: "accept" },
    ]) {
      const { error } = await approval.decide(task.id, value);
      expect(error.code).toBe(-32602);
    }
    const text = await approval.send("yes please", { message: { taskId: task.id } });
    expect(text.error.code).toBe(-32602);
    expect(pair.host.requests.filter(({ path }) => path.includes("/interrupts/"))).toHaveLength(before);
    expect((await approval.task(task.id)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("OW-29 text answers the only question; two questions need both ids", async () => {
    const clarify = await client("clarify");
    const one = await clarify.start();
    expect(one.status.message.parts[0].text).toBe("Which colour?");
    const answered = await clarify.send("red", { message: { taskId: one.id } });
    expect(answered.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(answered.result.task.artifacts[0].parts[0].data).toEqual([{ id: "colour", answer: "red" }]);
    const two = await clarify.start("two");
    expect((await clarify.send("red", { message: { taskId: two.id } })).error.code).toBe(-32602);
    const both = {
      answers: [
        { id: "colour", answer: "red" },
        { id: "size", answer: 3 },
      ],
    };
    expect((await clarify.decide(two.id, both)).result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("OW-29 an external event and a conversation are answered in their own form", async () => {
    const external = await client("external");
    const waiting = await external.start();
    expect(waiting.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(waiting.metadata.openwop.interrupt.kind).toBe("external-event");
    const paid = await external.decide(waiting.id, { eventPayload: { amount: 7 } });
    expect(paid.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    const conversation = await client("conversation");
    const talk = await conversation.start();
    const said = await conversation.send("More, then.", { message: { taskId: talk.id } });
    expect(said.result.task.artifacts[0].parts[0].text).toBe("More, then.");
  });

  it("OW-29 a quorum keeps the task waiting without an error until it is met", async () => {
    const gatekeeper = await pair.client("quorum");
    const ada = await pair.client("quorum", { name: "ada" });
    const task = await gatekeeper.start();
    const first = await gatekeeper.decide(task.id, { action: "accept" });
    expect(first.result.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    // Two endpoints of one owner do not see each other's tasks, so the second voice speaks for itself at the host.
    expect((await ada.decide(task.id, { action: "accept" })).error.code).toBe(-32001);
    const { nodeId } = run(task.id).interrupt ?? { nodeId: "" };
    pair.host.state.engine.resolve(
      run(task.id),
      nodeId,
      { action: "accept" },
      { tenant: "acme", subject: "ada" },
    );
    await gatekeeper.until(task.id, "TASK_STATE_COMPLETED");
  });

  it("OW-29 only a named approver may decide: judged here for the service credential, by the host for its own", async () => {
    const stranger = await pair.client("named-approver");
    const task = await stranger.start();
    const before = pair.host.requests.filter(({ path }) => path.includes("/interrupts/")).length;
    const refused = await stranger.decide(task.id, { action: "accept", decidedBy: "ada" });
    expect(refused.error.code).toBe(-31403);
    expect(pair.host.requests.filter(({ path }) => path.includes("/interrupts/"))).toHaveLength(before);
    const ada = await pair.client("named-approver", { name: "ada" });
    const own = await ada.start();
    const { result } = await ada.decide(own.id, { action: "accept", decidedBy: "mallory" });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    const received = run(own.id).events.find(({ type }) => type === "approval.received");
    expect(received?.payload.decidedBy).toBe("ada");
  });

  it("OW-16 a pause shows as work with a note, and its end as work", async () => {
    const paused = await client("paused");
    const task = await paused.start("x", { configuration: { returnImmediately: true } });
    await eventually(async () => (await paused.task(task.id)).status.message !== undefined, "the note");
    const noted = await paused.task(task.id);
    expect(noted.status).toMatchObject({ state: "TASK_STATE_WORKING" });
    expect(noted.status.message.parts[0].text).toBe("The run is paused.");
    pair.host.state.engine.advance(run(task.id));
    await paused.until(task.id, "TASK_STATE_COMPLETED");
  });

  it("OW-35 OW-61 a failure shows its code, nothing of the host's text and of what led to it", async () => {
    const task = await (await client("fails")).start();
    expect(task.status.state).toBe("TASK_STATE_FAILED");
    expect(task.status.message.parts[0].text).toBe("The run failed: model_unavailable.");
    expect(task.metadata.openwop.error.code).toBe("model_unavailable");
    expect(JSON.stringify(task)).not.toMatch(/secret|not available/);
    const echo = await (await client("echo")).start();
    expect(JSON.stringify(echo)).not.toMatch(/secret|tokens/);
  });

  it("OW-25 OW-26 a task of another endpoint does not exist, in every operation", async () => {
    const mine = await (await client("conformance-approval")).start();
    const other = await pair.client("conformance-approval");
    for (const [method, params] of [
      ["GetTask", { id: mine.id }],
      ["CancelTask", { id: mine.id }],
      ["SubscribeToTask", { id: mine.id }],
    ] as const) {
      expect((await other.call(method, params)).error.code).toBe(-32001);
    }
    expect((await other.decide(mine.id, { action: "accept" })).error.code).toBe(-32001);
    const { result } = await other.call("ListTasks", { contextId: mine.contextId });
    expect(result.tasks).toEqual([]);
    expect(run(mine.id).status).toBe("waiting-approval");
  });

  it("OW-26 an id made of a task's id and the name of a part of it is unknown, whether the task exists or not", async () => {
    const mine = await (await client("echo")).start();
    const other = await pair.client("echo");
    for (const part of [":log", ":history", ":artifact:echo"]) {
      const real = await other.call("GetTask", { id: `${mine.id}${part}` });
      const unreal = await other.call("GetTask", { id: `${mine.id}x${part}` });
      expect(real.error.code).toBe(-32001);
      expect(real.error.message).toBe(unreal.error.message);
    }
  });

  it("OW-25 a listing has own tasks only, newest status first, and always a page token", async () => {
    const echo = await pair.client("echo");
    const ids: string[] = [];
    for (const text of ["1", "2", "3"]) ids.unshift((await echo.start(text)).id);
    const { result } = await echo.call("ListTasks", { pageSize: 2 });
    expect(result.tasks.map(({ id }: Json) => id)).toEqual(ids.slice(0, 2));
    expect(result.tasks[0].artifacts).toBeUndefined();
    const rest = await echo.call("ListTasks", { pageSize: 2, pageToken: result.nextPageToken });
    expect(rest.result.tasks.map(({ id }: Json) => id)).toEqual(ids.slice(2));
    expect(rest.result.nextPageToken).toBe("");
  });

  it("OW-12 a lost interrupt event is made up for by the snapshot", async () => {
    pair.host.state.engine.options.bareSuspensions = true;
    const approval = await client("conformance-approval");
    const task = await approval.start();
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(task.metadata.openwop.interrupt.kind).toBe("approval");
    const { result } = await approval.decide(task.id, { action: "accept" });
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("OW-12 older twins and frames sent twice change nothing twice", async () => {
    pair.host.state.engine.options.legacyTwins = true;
    pair.host.faults.add({ route: "events", kind: "twice", times: 100 });
    const journey = await client("journey");
    const stream = journey.stream("SendStreamingMessage", {
      message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] },
    });
    await stream.ended;
    const id = stream.items[0].result.task.id;
    const watch = journey.stream("SubscribeToTask", { id });
    await eventually(() => watch.items.length > 0, "open");
    await journey.decide(id, { action: "accept" });
    await watch.ended;
    const states = [...stream.items, ...watch.items].flatMap(
      ({ result }) => result.statusUpdate?.status.state ?? [],
    );
    expect(states.filter((state) => state === "TASK_STATE_INPUT_REQUIRED").length).toBeLessThanOrEqual(2);
    const sent = watch.items.flatMap(({ result }) => result.artifactUpdate?.artifact.artifactId ?? []);
    expect(sent).toEqual(["build"]);
  });

  it("OW-35 no word of the host's failures reaches a client", async () => {
    const echo = await client("echo");
    const seen: string[] = [];
    for (const status of [400, 401, 403, 404, 409, 422, 429, 500, 503]) {
      pair.host.faults.clear();
      pair.host.faults.add({ route: "create", kind: "status", status, times: 100, retryAfterSeconds: 60 });
      const answer = await echo.send("x");
      expect(answer.error).toBeDefined();
      seen.push(JSON.stringify(answer.body));
    }
    pair.host.faults.clear();
    expect(seen.join()).not.toContain(FAULT_TEXT);
    expect(seen.join()).not.toMatch(/internal_error|rate_limited|host-key/);
  }, 90_000);

  it("OW-59 no credential, cookie or header of a caller reaches the host", async () => {
    const approval = await client("conformance-approval");
    const from = pair.host.requests.length;
    const answer = await approval.call(
      "SendMessage",
      {
        message: {
          messageId: randomUUID(),
          role: "ROLE_USER",
          parts: [{ text: "x" }],
          metadata: { authorization: "Bearer body-secret" },
        },
      },
      {
        cookie: "session=cookie-secret",
        dpop: "proof-secret",
        "x-api-key": "header-secret",
        "proxy-authorization": "p",
      },
    );
    const { id } = answer.result.task;
    await approval.decide(id, { action: "accept" });
    await approval.call("CancelTask", { id });
    const sent = pair.host.requests.slice(from);
    expect(sent.length).toBeGreaterThan(3);
    const text = JSON.stringify(sent.map(({ headers, path }) => ({ headers, path })));
    expect(text).not.toContain(approval.token);
    expect(text).not.toMatch(/-secret|cookie|dpop|x-api-key/);
    for (const { headers } of sent)
      expect(["Bearer host-key-acme", undefined]).toContain(headers.authorization);
  });

  it("OW-58 nothing in a message chooses another tenant or another agent's workflow", async () => {
    const echo = await client("echo");
    const answer = await echo.send("x", {
      message: { metadata: { openwop: { tenant: "other", workspace: "w", skillId: "slow" } } },
    });
    expect(answer.error.code).toBe(-32602);
    const task = await echo.start("x", {
      message: { metadata: { tenantId: "other", openwop: { tenant: "other" } } },
    });
    expect(run(task.id).made.owner.tenant).toBe("acme");
  });

  it("OW-60 a trace context goes along, a malformed one does not", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const echo = await client("echo");
    const creates = () =>
      pair.host.requests.filter(({ method, path }) => method === "POST" && path.endsWith("/runs"));
    await echo.start("x", { message: { metadata: { openwop: { traceparent } } } });
    expect(creates().at(-1)?.headers.traceparent).toBe(traceparent);
    await echo.start("x", { message: { metadata: { openwop: { traceparent: "00-zz" } } } });
    expect(creates().at(-1)?.headers.traceparent).toBeUndefined();
  });

  it("purposes are shown as they were given, and never widened by a reply", async () => {
    const approval = await client("conformance-approval");
    const purposes = { openwop: { permittedPurposes: ["review"] } };
    const task = await approval.start("x", { message: { metadata: purposes } });
    expect(task.metadata.openwop.permittedPurposes).toEqual(["review"]);
    const reply = { openwop: { interrupt: { action: "accept" }, permittedPurposes: ["review", "training"] } };
    const { result } = await approval.decide(task.id, { action: "accept" }, { metadata: reply });
    expect(result.task.metadata.openwop.permittedPurposes).toEqual(["review"]);
  });

  it("bytes and unwanted output modes are refused before a run is made", async () => {
    const echo = await client("echo");
    const before = pair.host.state.engine.created;
    const raw = await echo.send("x", { message: { parts: [{ raw: "AAEC" }] } });
    expect(raw.error.code).toBe(-32005);
    const modes = await echo.send("x", { configuration: { acceptedOutputModes: ["audio/ogg"] } });
    expect(modes.error.code).toBe(-32005);
    expect(pair.host.state.engine.created).toBe(before);
  });
});

describe("shared tasks", () => {
  it("OW-29 where endpoints share tasks, two approvers make a quorum, each at the host as itself", async () => {
    const pair = await startPair(2, {}, { callers: { ada: ADA } });
    const shared = openwopAgent(pair.host.url, "quorum", { callers: { ada: ADA } }, { visibility: "queue" });
    const other = await startPair(1, { agents: { shared } });
    try {
      const first = await other.client("shared");
      const ada = await other.client("shared", { name: "ada" });
      const task = await first.start();
      expect((await first.decide(task.id, { action: "accept" })).result.task.status.state).toBe(
        "TASK_STATE_INPUT_REQUIRED",
      );
      const { result } = await ada.decide(task.id, { action: "accept" });
      expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
      const by = pair.host.state.engine.runs
        .get(task.id)
        ?.events.filter(({ type }) => type === "approval.received");
      expect(by?.map(({ payload }) => payload.decidedBy)).toEqual(["gateway", "ada"]);
    } finally {
      await other.stop();
      await pair.stop();
    }
  });
});

describe("retention", () => {
  it("OW-15 an ended task lives as long as its run, and no longer", async () => {
    const pair = await startPair(2, {}, { retentionCheckSeconds: 0.2 });
    try {
      const echo = await pair.client("echo");
      const task = await echo.start();
      await sleep(700);
      expect((await echo.task(task.id)).status.state).toBe("TASK_STATE_COMPLETED");
      pair.host.state.engine.runs.delete(task.id);
      await eventually(
        async () => (await echo.call("GetTask", { id: task.id })).error?.code === -32001,
        "forgotten",
      );
      expect((await echo.call("ListTasks", {})).result.tasks).toEqual([]);
    } finally {
      await pair.stop();
    }
  });
});

describe("skills", () => {
  it("OW-5 an agent with several workflows lists them all and starts the one that is named", async () => {
    const agents = {
      many: openwopAgent(
        "http://127.0.0.1:9",
        "echo",
        { workflows: ["echo", "slow"] },
        { discoverable: true },
      ),
    };
    const pair = await startPair(2, { agents });
    try {
      const url = `${pair.gateway.url}/many/.well-known/agent-card.json`;
      const card: Json = await (await fetch(url)).json();
      expect(card.skills.map(({ id }: Json) => id)).toEqual(["echo", "slow"]);
      const many = await pair.client("many");
      const { error } = await many.send("x", { message: { metadata: { openwop: { skillId: "none" } } } });
      expect(error.code).toBe(-32602);
      const unreachable = await many.send("x");
      expect(unreachable.error).toMatchObject({ code: -32603 });
    } finally {
      await pair.stop();
    }
  });
});
