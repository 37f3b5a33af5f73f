/** An open interrupt of a run, as far as a client may need it or a reply is checked against it. Never its token. */
export interface Interrupt {
  /** Empty where the host did not say. */
  readonly id: string;
  readonly key: string;
  readonly nodeId: string;
  readonly kind: string;
  /** Offered actions of an approval, `edit` written as `edit-accept`; empty where the host named none. */
  readonly actions: readonly string[];
  readonly title: string;
  readonly questions: readonly { readonly id: string; readonly question: string }[];
  /** Who may decide, by subject; empty: the host alone decides. */
  readonly approvers: readonly string[];
  readonly eventType: string;
  readonly provider: string;
  readonly connectUrl: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Longest text that is taken over from a host, in characters. */
const MAX_TEXT = 2000;
const MAX_ITEMS = 50;

export function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_TEXT) : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value)
    ? value
        .map(textOf)
        .filter((text) => text !== "")
        .slice(0, MAX_ITEMS)
    : [];
}

function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/**
 * Reads an interrupt out of the payload of `node.suspended`, `interrupt.requested` (either major) or one of the older
 * events, whose data stands in the payload itself.
 */
export function readInterrupt(payload: Json, nodeId: string, kind = ""): Interrupt {
  const data = payload.data === undefined ? payload : objectOf(payload.data);
  const questions = Array.isArray(data.questions) ? data.questions.slice(0, MAX_ITEMS).map(objectOf) : [];
  return {
    id: textOf(payload.interruptId),
    key: textOf(payload.key),
    nodeId: textOf(payload.nodeId) || nodeId,
    kind: textOf(payload.kind) || kind,
    actions: textsOf(data.actions).map((action) => (action === "edit" ? "edit-accept" : action)),
    title: textOf(data.title) || textOf(data.prompt),
    questions: questions.map((item) => ({ id: textOf(item.id), question: textOf(item.question) })),
    approvers: textsOf(data.approversList),
    eventType: textOf(data.eventType),
    provider: textOf(data.provider),
    connectUrl: webUrl(data.connectUrl),
  };
}

function webUrl(value: unknown): string {
  const text = textOf(value);
  return /^https?:\/\/\S+$/.test(text) ? text : "";
}

/** Whether two notices speak of one interrupt: by id, else by key, else by node. */
export function sameInterrupt(a: Interrupt, b: Interrupt): boolean {
  if (a.id !== "" && b.id !== "") return a.id === b.id;
  if (a.key !== "" && b.key !== "") return a.key === b.key;
  return a.nodeId !== "" && a.nodeId === b.nodeId;
}

/** What both notices say together; the later one wins where both say something. */
export function mergeInterrupt(earlier: Interrupt, later: Interrupt): Interrupt {
  const pick = (a: string, b: string) => (b === "" ? a : b);
  const longer = <T>(a: readonly T[], b: readonly T[]) => (b.length === 0 ? a : b);
  return {
    id: pick(earlier.id, later.id),
    key: pick(earlier.key, later.key),
    nodeId: pick(earlier.nodeId, later.nodeId),
    kind: pick(earlier.kind, later.kind),
    actions: longer(earlier.actions, later.actions),
    title: pick(earlier.title, later.title),
    questions: longer(earlier.questions, later.questions),
    approvers: longer(earlier.approvers, later.approvers),
    eventType: pick(earlier.eventType, later.eventType),
    provider: pick(earlier.provider, later.provider),
    connectUrl: pick(earlier.connectUrl, later.connectUrl),
  };
}

/** The run status that an interrupt of a kind means (openwop.md 1.4). */
export function statusOfKind(kind: string): "waiting-approval" | "waiting-input" | "waiting-external" {
  if (kind === "external-event") return "waiting-external";
  if (kind === "approval" || kind === "low-confidence" || kind.startsWith("conversation.")) {
    return "waiting-approval";
  }
  return "waiting-input";
}

/** The kind to assume where only the run status is known. */
export function kindOfStatus(status: string): string {
  if (status === "waiting-approval") return "approval";
  return status === "waiting-external" ? "external-event" : "clarification";
}
