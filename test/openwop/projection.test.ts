import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ArtifactSchema, type Message, MessageSchema, Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../../src/domain/errors.ts";
import { type Interrupt, readInterrupt } from "../../src/domain/openwop/interrupt.ts";
import { resumeValue } from "../../src/domain/openwop/resume-value.ts";
import { artifactOf, outputArtifacts } from "../../src/domain/openwop/run-artifact.ts";
import {
  agrees,
  type Effect,
  foldEvent,
  foldSnapshot,
  NEW_RUN,
  type RunView,
} from "../../src/domain/openwop/run-fold.ts";
import {
  idempotencyKey,
  permittedPurposes,
  runInputs,
  runMetadata,
  runTags,
  traceHeaders,
} from "../../src/domain/openwop/run-input.ts";
import { projectStatus } from "../../src/domain/openwop/run-projection.ts";
import { recordStateOf, taskStateOf } from "../../src/domain/openwop/run-status.ts";

const RULES = { credentialInterrupts: true, failureText: "message" } as const;

function project(view: RunView, errorText = "", rules: Parameters<typeof projectStatus>[1] = RULES) {
  return projectStatus(view, rules, { messageId: "m", errorText, permittedPurposes: undefined });
}

/** Folds a log and answers what a client would be told, in order. */
function fold(events: readonly (readonly [type: string, payload?: object, nodeId?: string])[]) {
  let view: RunView = NEW_RUN;
  const effects: Effect[] = [];
  events.forEach(([type, payload = {}, nodeId], sequence) => {
    const folded = foldEvent(view, {
      type,
      sequence,
      payload: payload as Record<string, unknown>,
      timestamp: "2026-01-02T03:04:05.678Z",
      nodeId,
    });
    view = folded.view;
    effects.push(...folded.effects);
  });
  const states = effects.flatMap((effect) =>
    effect.kind === "status" ? [TaskState[project(effect.view).state]] : [effect.kind],
  );
  return { view, effects, states };
}

const approval = (id: string, key: string) =>
  [
    "interrupt.requested",
    { interruptId: id, key, kind: "approval", nodeId: "n", data: { actions: ["accept"] } },
  ] as const;
const suspended = (id: string, key: string) =>
  ["node.suspended", { interruptId: id, key, nodeId: "n" }] as const;
const resolved = (id: string, key: string) =>
  ["interrupt.resolved", { interruptId: id, key, nodeId: "n" }] as const;

describe("run status to task state (openwop.md 2.1)", () => {
  it.each([
    ["pending", "SUBMITTED", "submitted"],
    ["running", "WORKING", "working"],
    ["paused", "WORKING", "working"],
    ["cancelling", "WORKING", "working"],
    ["waiting-approval", "INPUT_REQUIRED", "input-required"],
    ["waiting-input", "INPUT_REQUIRED", "input-required"],
    ["waiting-external", "INPUT_REQUIRED", "input-required"],
    ["completed", "COMPLETED", "completed"],
    ["failed", "FAILED", "failed"],
    ["cancelled", "CANCELED", "canceled"],
    ["hibernating", "WORKING", "working"],
  ])("OW-16 %s shows as %s", (status, state, record) => {
    expect(TaskState[taskStateOf(status)]).toBe(state);
    expect(recordStateOf(taskStateOf(status))).toBe(record);
  });

  it("OW-16 waiting-input is AUTH_REQUIRED for a credential interrupt only, and only where the host offers it", () => {
    expect(taskStateOf("waiting-input", true)).toBe(TaskState.AUTH_REQUIRED);
    expect(taskStateOf("waiting-approval", true)).toBe(TaskState.INPUT_REQUIRED);
    const { view } = fold([
      ["run.started"],
      [
        "interrupt.requested",
        {
          interruptId: "i",
          key: "k",
          kind: "credential",
          nodeId: "n",
          data: { provider: "mail", connectUrl: "https://c.example/x", scopes: ["a"] },
        },
      ],
    ]);
    const offered = project(view);
    expect(offered.state).toBe(TaskState.AUTH_REQUIRED);
    expect(offered.message?.parts[0]?.content.value).toBe(
      "Authorization at mail is needed: https://c.example/x",
    );
    expect(offered.interruptKind).toBeUndefined();
    expect(project(view, "", { ...RULES, credentialInterrupts: false }).state).toBe(TaskState.INPUT_REQUIRED);
  });
});

describe("the event log", () => {
  it("OW-12 a suspension, its interrupt and both older twins are one update", () => {
    const { states, view } = fold([
      ["run.started"],
      suspended("i1", "k1"),
      approval("i1", "k1"),
      ["approval.requested", { interruptId: "i1", nodeId: "n" }],
      ["approval.requested", {}, "n"],
    ]);
    expect(states).toEqual(["WORKING", "INPUT_REQUIRED"]);
    expect(view.interrupt?.actions).toEqual(["accept"]);
  });

  it("OW-12 a v2 interrupt, which has no id, is the one that its suspension named", () => {
    const { states, view } = fold([
      ["run.started"],
      ["node.suspended", { interruptId: "i1", key: "k1", nodeId: "n" }, "n"],
      [
        "interrupt.requested",
        { kind: "clarification", key: "k1", data: { questions: [{ id: "q", question: "?" }] } },
        "n",
      ],
    ]);
    expect(states).toEqual(["WORKING", "INPUT_REQUIRED"]);
    expect(view.interrupt).toMatchObject({ id: "i1", key: "k1", nodeId: "n", kind: "clarification" });
  });

  it("OW-12 a twin that comes after the answer does not open the interrupt again", () => {
    const { states } = fold([
      ["run.started"],
      suspended("i1", "k1"),
      approval("i1", "k1"),
      resolved("i1", "k1"),
      ["approval.requested", { interruptId: "i1", nodeId: "n" }],
      ["approval.requested", {}, "n"],
      approval("i1", "k1"),
      suspended("i1", "k1"),
    ]);
    expect(states).toEqual(["WORKING", "INPUT_REQUIRED", "WORKING"]);
  });

  it("OW-29 the next round at the same node is a new question", () => {
    const { states } = fold([
      ["run.started"],
      suspended("i1", "k1"),
      approval("i1", "k1"),
      resolved("i1", "k1"),
      suspended("i2", "k1"),
      approval("i2", "k1"),
    ]);
    expect(states).toEqual(["WORKING", "INPUT_REQUIRED", "WORKING", "INPUT_REQUIRED"]);
  });

  it("OW-16 an ended run takes no more events", () => {
    const { states, view } = fold([
      ["run.started"],
      ["run.cancelled"],
      ["run.completed", { outputs: {} }],
      approval("i", "k"),
    ]);
    expect(states).toEqual(["WORKING", "CANCELED"]);
    expect(view.status).toBe("cancelled");
  });

  it("OW-61 inner work has no effect", () => {
    const inner = [
      "agent.thought",
      "provider.usage",
      "log.appended",
      "output.chunk",
      "envelope.sent",
      "node.completed",
    ];
    const { effects } = fold(inner.map((type) => [type, { text: "secret", outputs: { a: 1 } }] as const));
    expect(effects).toEqual([]);
  });

  it("OW-16 a pause is said, its end too, and an unknown event is nothing", () => {
    const { effects, states } = fold([["run.started"], ["run.paused"], ["future.event"], ["run.resumed"]]);
    expect(states).toEqual(["WORKING", "WORKING", "WORKING"]);
    const texts = effects.map((effect) =>
      effect.kind === "status" ? project(effect.view).message?.parts[0]?.content.value : undefined,
    );
    expect(texts).toEqual([undefined, "The run is paused.", undefined]);
  });

  it("the time of a status is that of its event", () => {
    const { effects } = fold([["run.started"]]);
    expect(effects[0]).toMatchObject({ kind: "status", at: Date.parse("2026-01-02T03:04:05.678Z") });
  });

  it("OW-35 a failure says its code; where so configured, the first line of its message without control characters", () => {
    const { effects } = fold([
      ["run.failed", { error: { code: "boom", message: "\n Bad\u0007 day\n at stack (file.js:1)" } }],
    ]);
    const [effect] = effects;
    if (effect?.kind !== "status") throw new Error("no status");
    const shown = project(effect.view, effect.errorText);
    expect(shown.message?.parts[0]?.content.value).toBe("Bad  day");
    expect(shown.metadata).toEqual({ openwop: { error: { code: "boom" } } });
    const hidden = project(effect.view, effect.errorText, { ...RULES, failureText: "code" });
    expect(hidden.message?.parts[0]?.content.value).toBe("The run failed: boom.");
  });

  it("a code that is no plain word is not shown", () => {
    const { view } = fold([["run.failed", { error: { code: "drop table; --", message: "" } }]]);
    expect(project(view).metadata).toEqual({});
  });
});

describe("snapshots", () => {
  const running = fold([["run.started"]]).view;

  it("OW-12 a snapshot that agrees changes nothing", () => {
    expect(agrees(running, { status: "running" })).toBe(true);
    expect(foldSnapshot(running, { status: "running" }, 0).effects).toEqual([]);
  });

  it("OW-12 a paused run without an interrupt event is input-required all the same", () => {
    const { view } = foldSnapshot(running, { status: "waiting-approval", currentNodeId: "n" }, 1);
    expect(project(view)).toMatchObject({ state: TaskState.INPUT_REQUIRED, interruptKind: "approval" });
    expect(project(view).metadata).toEqual({ openwop: { interrupt: { kind: "approval", nodeId: "n" } } });
    const late = foldEvent(view, {
      type: "interrupt.requested",
      sequence: 5,
      payload: { nodeId: "n", kind: "approval", key: "k", data: { actions: ["accept"] } },
    });
    expect(late.effects).toEqual([]);
    expect(late.view.interrupt?.actions).toEqual(["accept"]);
  });

  it.each(["completed", "failed", "cancelled"])("OW-16 %s ends the task", (status) => {
    const { view, effects } = foldSnapshot(running, { status }, 1);
    expect(view.status).toBe(status);
    expect(effects).toHaveLength(1);
  });

  it("OW-24 cancelling looks like working", () => {
    expect(foldSnapshot(running, { status: "cancelling" }, 1).effects).toEqual([]);
  });
});

const message = (parts: JsonValue, metadata?: JsonValue): Message =>
  fromJson(MessageSchema, {
    messageId: "m1",
    role: "ROLE_USER",
    parts,
    ...(metadata === undefined ? {} : { metadata }),
  });

function kindOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof BatonError) return error.kind;
    throw error;
  }
  return "accepted";
}

describe("replies (openwop.md 2.6)", () => {
  const open = (kind: string, data: object): Interrupt =>
    readInterrupt({ kind, key: "k", data, interruptId: "i" }, "n");
  const review = open("approval", { actions: ["accept", "reject", "refine", "edit", "ask"] });
  const decider = { subject: "ada", now: new Date("2026-05-05T00:00:00Z") };
  const answer = (interrupt: Interrupt, parts: JsonValue, metadata?: JsonValue) =>
    resumeValue(interrupt, message(parts, metadata), undefined, decider);

  it("OW-29 who decided comes from the credential, never from the message", () => {
    expect(answer(review, [{ data: { action: "accept", decidedBy: "mallory" } }])).toEqual({
      action: "accept",
      decidedBy: "ada",
      decidedAt: "2026-05-05T00:00:00.000Z",
    });
  });

  it("OW-29 metadata comes before a data part, a bare action last", () => {
    const metadata = { openwop: { interrupt: { action: "reject" }, action: "ask" } };
    expect(answer(review, [{ data: { action: "accept" } }], metadata)).toMatchObject({ action: "reject" });
    expect(answer(review, [{ text: "x" }], { openwop: { action: "ask" } })).toMatchObject({ action: "ask" });
  });

  it.each<[string, JsonValue]>([
    ["plain text", [{ text: "accept" }]],
    ["an unknown action", [{ data: { action: "approve" } }]],
    ["the offered spelling of edit-accept", [{ data: { action: "edit", editedArtifactData: {} } }]],
    ["edit-accept without data", [{ data: { action: "edit-accept" } }]],
    ["refine without feedback", [{ data: { action: "refine" } }]],
    ["refine with an unknown scope", [{ data: { action: "refine", refineFeedback: { scope: "all" } } }]],
    [
      "refine of a section without its path",
      [{ data: { action: "refine", refineFeedback: { scope: "section" } } }],
    ],
    [
      "refine of items without ids",
      [{ data: { action: "refine", refineFeedback: { scope: "items", itemIds: [] } } }],
    ],
    ["accept with the field of another action", [{ data: { action: "accept", editedArtifactData: {} } }]],
    ["feedback that is no text", [{ data: { action: "accept", feedback: 7 } }]],
    ["no object", [{ data: "accept" }]],
  ])("OW-29 an approval is not answered by %s", (_what, parts) => {
    expect(kindOf(() => answer(review, parts))).toBe("InvalidParams");
  });

  it("OW-29 only what was offered", () => {
    const narrow = open("approval", { actions: ["accept", "reject"] });
    expect(kindOf(() => answer(narrow, [{ data: { action: "ask" } }]))).toBe("InvalidParams");
    expect(kindOf(() => answer(narrow, [{ data: { action: "reject", feedback: "no" } }]))).toBe("accepted");
  });

  it.each<JsonValue>([
    { action: "refine", refineFeedback: { scope: "whole", text: "shorter" } },
    { action: "refine", refineFeedback: { scope: "section", sectionPath: "1.2" } },
    { action: "refine", refineFeedback: { scope: "items", itemIds: ["a"], tags: ["t"] } },
    { action: "edit-accept", editedArtifactData: { a: 1 } },
    { action: "ask", question: "why?" },
  ])("OW-29 the whole vocabulary is taken: %j", (value) => {
    expect(answer(review, [{ data: value }])).toMatchObject(value as object);
  });

  it("OW-29 a plain text answers a single question, and no more than that", () => {
    const one = open("clarification", { questions: [{ id: "q1", question: "Which?" }] });
    expect(answer(one, [{ text: "red" }])).toEqual({ answers: [{ id: "q1", answer: "red" }] });
    const two = open("clarification", {
      questions: [
        { id: "a", question: "A" },
        { id: "b", question: "B" },
      ],
    });
    expect(kindOf(() => answer(two, [{ text: "red" }]))).toBe("InvalidParams");
    const both = {
      answers: [
        { id: "a", answer: 1 },
        { id: "b", answer: "x" },
      ],
    };
    expect(answer(two, [{ data: both }])).toEqual(both);
    for (const answers of [
      [],
      [{ id: "z", answer: 1 }],
      [{ id: "a" }],
      [
        { id: "a", answer: 1 },
        { id: "a", answer: 2 },
      ],
    ]) {
      expect(kindOf(() => answer(two, [{ data: { answers } }]))).toBe("InvalidParams");
    }
  });

  it("OW-29 an external event needs its payload, a credential is given elsewhere, a conversation takes text", () => {
    const external = open("external-event", { eventType: "paid" });
    expect(answer(external, [{ data: { eventPayload: { n: 1 } } }])).toEqual({ eventPayload: { n: 1 } });
    expect(kindOf(() => answer(external, [{ data: { n: 1 } }]))).toBe("InvalidParams");
    expect(kindOf(() => answer(open("credential", {}), [{ data: {} }]))).toBe("UnsupportedOperation");
    const talk = open("conversation.exchange", { conversationId: "c", prompt: "Go on" });
    expect(answer(talk, [{ text: "fine" }])).toBe("fine");
    expect(answer(talk, [{ data: { outcome: 1 } }])).toEqual({ outcome: 1 });
  });

  it("the token of an interrupt is not taken over", () => {
    const read = readInterrupt(
      { kind: "approval", token: "t0k", interruptToken: "t0k", data: { token: "t0k" } },
      "n",
    );
    expect(JSON.stringify(read)).not.toContain("t0k");
  });
});

describe("message to run (openwop.md 2.5)", () => {
  const ports = { text: "prompt", data: "data", files: "files" };

  it("OW-17 texts, data and references become inputs", () => {
    const parts = [
      { text: "one" },
      { data: { n: 1 } },
      { text: "two" },
      { url: "https://f.example/a.pdf", filename: "a.pdf", mediaType: "application/pdf" },
    ];
    expect(runInputs(message(parts), ports)).toEqual({
      prompt: "one\ntwo",
      data: { n: 1 },
      files: [{ url: "https://f.example/a.pdf", filename: "a.pdf", mediaType: "application/pdf" }],
    });
    expect(runInputs(message([{ text: "x" }]), { ...ports, text: "brief" })).toEqual({ brief: "x" });
  });

  it("bytes are refused: they would stand in the host's event log", () => {
    expect(kindOf(() => runInputs(message([{ raw: "AAEC" }]), ports))).toBe("ContentTypeNotSupported");
  });

  it("tags fit the host's bound", () => {
    expect(runTags("m", "c")).toEqual(["a2a:m", "a2a:c"]);
    const [long] = runTags("m".repeat(300), "c");
    expect(long).toMatch(/^a2a:sha256-/);
    expect(long?.length).toBeLessThan(257);
  });

  it("OW-58 the run says where it came from and that nothing of it is to be trusted", () => {
    const sent = message([{ text: "x" }], { note: "n", openwop: { interrupt: 1, tenant: "zz" } });
    expect(runMetadata(sent, "ctx")).toEqual({
      a2a: { messageId: "m1", contextId: "ctx", role: "user", messageMetadata: { note: "n" } },
      openwop: { contentTrust: "untrusted" },
    });
  });

  it("OW-60 a trace context is passed on only if it is one", () => {
    const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const of = (openwop: JsonValue) => traceHeaders(message([{ text: "x" }], { openwop }));
    expect(of({ traceparent: good, tracestate: "a=b" })).toEqual({ traceparent: good, tracestate: "a=b" });
    expect(of({ traceparent: good, tracestate: "a\r\nb: c" })).toEqual({ traceparent: good });
    expect(of({ traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` })).toEqual({});
    expect(of({ traceparent: "x\r\nauthorization: y" })).toEqual({});
    expect(of({ tracestate: "a=b" })).toEqual({});
  });

  it("purposes: absent is unlabelled, empty is none", () => {
    const of = (openwop: JsonValue) => permittedPurposes(message([{ text: "x" }], { openwop }));
    expect(of({})).toBeUndefined();
    expect(of({ permittedPurposes: [] })).toEqual([]);
    expect(of({ permittedPurposes: ["billing", 7] })).toEqual(["billing"]);
  });

  it("OW-20 the idempotency key depends on who sent which message, and fits the host", () => {
    const key = idempotencyKey("a", "o", "m", "create");
    expect(key).toMatch(/^[A-Za-z0-9_-]{1,255}$/);
    expect(idempotencyKey("a", "o", "m", "create")).toBe(key);
    for (const other of [
      idempotencyKey("b", "o", "m", "create"),
      idempotencyKey("a", "p", "m", "create"),
      idempotencyKey("a", "o", "n", "create"),
      idempotencyKey("a", "o", "m", "resolve"),
    ]) {
      expect(other).not.toBe(key);
    }
  });
});

describe("artifacts (openwop.md 2.7)", () => {
  it("a host's JSON becomes one part, an A2A artifact is taken over", () => {
    const plain = toJson(ArtifactSchema, artifactOf("a1", "Plan", { n: [1, null] }));
    expect(plain).toMatchObject({ artifactId: "a1", name: "Plan", parts: [{ data: { n: [1, null] } }] });
    const offered = artifactOf("a1", "", {
      artifactId: "a1",
      parts: [{ text: "t" }, { url: "https://store/x?sig=1" }],
    });
    expect(toJson(ArtifactSchema, offered)).toEqual({ artifactId: "a1", parts: [{ text: "t" }] });
  });

  it("an artifact that claims another id does not get it", () => {
    expect(artifactOf("a1", "", { artifactId: "a2", parts: [{ text: "t" }] }).artifactId).toBe("a1");
  });

  it("each output is an artifact; one that points at a sent artifact is not sent twice", () => {
    const made = outputArtifacts({ text: "x", n: 1, none: null, doc: { artifactId: "d" } }, new Set(["d"]));
    expect(made.map(({ artifactId }) => artifactId)).toEqual(["output-text", "output-n"]);
  });
});

it("roles and messages of Baton are the agent's", () => {
  const view = fold([["run.started"], approval("i", "k")]).view;
  expect(project(view).message?.role).toBe(Role.AGENT);
  expect(create(MessageSchema).role).toBe(Role.UNSPECIFIED);
});
