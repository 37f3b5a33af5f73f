import type { RunError, RunStatus } from "./run.ts";

/** What a workflow asks of the engine. The engine answers a suspension with the accepted resume value. */
export type Step =
  | {
      readonly do: "emit";
      readonly type: string;
      readonly payload: Record<string, unknown>;
      readonly nodeId?: string;
    }
  | {
      readonly do: "suspend";
      readonly nodeId: string;
      readonly kind: string;
      readonly key: string;
      readonly status: RunStatus;
      readonly data: Record<string, unknown>;
    }
  | { readonly do: "artifact"; readonly artifactId: string; readonly body: Record<string, unknown> }
  /** Stay as it is until the test, or an operator, advances the run. */
  | { readonly do: "hold" }
  | { readonly do: "pause" }
  | { readonly do: "wait"; readonly ms: number };

export type Outcome =
  | { readonly outputs: Record<string, unknown> }
  | { readonly error: RunError; readonly nodeId?: string };

export type Workflow = (inputs: Record<string, unknown>) => Generator<Step, Outcome, unknown>;

interface Answer {
  readonly action?: string;
  readonly answers?: readonly { readonly id: string; readonly answer: unknown }[];
}

const ACTIONS_V1 = ["accept", "reject", "refine", "edit", "ask"];

function approval(round: number, extra: Record<string, unknown> = {}): Step {
  return {
    do: "suspend",
    nodeId: "review",
    kind: "approval",
    key: `review-${round}`,
    status: "waiting-approval",
    data: {
      artifactId: "draft",
      artifactType: "document",
      title: "Approve the draft",
      description: "internal review notes",
      actions: ACTIONS_V1,
      ...extra,
    },
  };
}

/** Suspends for an approval and loops on `refine`. */
function* approve(extra: Record<string, unknown> = {}): Generator<Step, Outcome, unknown> {
  for (let round = 1; ; round++) {
    const answer = (yield approval(round, extra)) as Answer;
    if (answer.action === "reject") {
      return { error: { code: "rejected", message: "The reviewer rejected the draft." }, nodeId: "review" };
    }
    if (answer.action !== "refine") return { outputs: { result: "approved", rounds: round } };
  }
}

const slow = function* (): Generator<Step, Outcome, unknown> {
  yield { do: "hold" };
  return { outputs: { result: "done" } };
};

/** The workflows by id. */
export const WORKFLOWS: Readonly<Record<string, Workflow>> = {
  "conformance-approval": () => approve(),
  quorum: () => approve({ requiredApprovals: 2 }),
  "named-approver": () => approve({ approversList: ["ada"] }),

  *echo(inputs) {
    yield { do: "emit", type: "agent.thought", payload: { text: "secret reasoning" } };
    yield {
      do: "artifact",
      artifactId: "echo",
      body: {
        name: "echo",
        text: String(inputs.prompt ?? ""),
        ...(inputs.data === undefined ? {} : { data: inputs.data }),
      },
    };
    yield { do: "emit", type: "provider.usage", payload: { tokens: 42, model: "secret-model" } };
    return { outputs: { text: String(inputs.prompt ?? "") } };
  },

  *clarify(inputs) {
    const many = inputs.prompt === "two";
    const answer = (yield {
      do: "suspend",
      nodeId: "ask",
      kind: "clarification",
      key: "ask-1",
      status: "waiting-input",
      data: {
        questions: [
          { id: "colour", question: "Which colour?" },
          ...(many ? [{ id: "size", question: "Which size?" }] : []),
        ],
      },
    }) as Answer;
    return { outputs: { answers: answer.answers } };
  },

  *external() {
    const answer = yield {
      do: "suspend",
      nodeId: "await-payment",
      kind: "external-event",
      key: "payment-1",
      status: "waiting-external",
      data: { eventType: "payment.settled", correlation: "order-7" },
    };
    return { outputs: { answer } };
  },

  *credential() {
    yield {
      do: "suspend",
      nodeId: "connect",
      kind: "credential",
      key: "connect-1",
      status: "waiting-input",
      data: { provider: "calendar", scopes: ["read"], connectUrl: "https://connect.example.com/calendar" },
    };
    return { outputs: { result: "connected" } };
  },

  *conversation() {
    const answer = yield {
      do: "suspend",
      nodeId: "talk",
      kind: "conversation.exchange",
      key: "talk-1",
      status: "waiting-approval",
      data: { conversationId: "c1", prompt: "Tell me more." },
    };
    return { outputs: { answer } };
  },

  slow,

  /** Runs for a while by itself: `inputs.prompt` is the time in milliseconds. */
  *timed(inputs) {
    yield { do: "wait", ms: Number(inputs.prompt ?? 100) || 100 };
    return { outputs: { result: "done" } };
  },

  *fails() {
    yield {
      do: "emit",
      type: "node.completed",
      payload: { nodeId: "first", outputs: { internal: "secret" } },
    };
    return { error: { code: "model_unavailable", message: "The model is not available." }, nodeId: "second" };
  },

  *paused() {
    yield { do: "pause" };
    return { outputs: { result: "resumed" } };
  },

  /** Several steps with a hand-over in between, for faults at every boundary. */
  *journey() {
    yield { do: "emit", type: "node.started", payload: { nodeId: "plan" } };
    yield { do: "artifact", artifactId: "plan", body: { text: "plan" } };
    const answer = (yield approval(1)) as Answer;
    yield { do: "emit", type: "node.started", payload: { nodeId: "build" } };
    yield { do: "artifact", artifactId: "build", body: { action: answer.action } };
    yield {
      do: "suspend",
      nodeId: "ask",
      kind: "clarification",
      key: "ask-1",
      status: "waiting-input",
      data: { questions: [{ id: "name", question: "Which name?" }] },
    };
    return { outputs: { result: "shipped" } };
  },
};
