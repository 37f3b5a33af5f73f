import type { DoorbellRing } from "../../service/worker/doorbell.ts";

/** Method of the doorbell notification (todo-delegation.md 4.3). */
const CHANNEL_METHOD = "notifications/claude/channel";

export type ChannelEvent = "ready" | "canceled" | "message";

export interface ChannelNotification {
  readonly jsonrpc: "2.0";
  readonly method: typeof CHANNEL_METHOD;
  readonly params: { readonly content: string; readonly meta: Readonly<Record<string, string>> };
}

const PHRASE: Readonly<Record<ChannelEvent, string>> = {
  ready: "ready on",
  canceled: "canceled on",
  message: "has a new message on",
};

/** One line of identifiers and the title, nothing more (SB-73, Q20). */
export function channelNotification(event: ChannelEvent, ring: DoorbellRing): ChannelNotification {
  const [queue, kind, source] = [ring.queue, ring.kind, ring.source].map(oneLine) as [string, string, string];
  const content = `baton: todo ${ring.todoId} ${PHRASE[event]} queue "${queue}" — ${oneLine(ring.title)}`;
  const meta = {
    event,
    todo_id: ring.todoId,
    queue,
    ...(kind === "" ? {} : { kind }),
    ...(source === "" ? {} : { source }),
  };
  return { jsonrpc: "2.0", method: CHANNEL_METHOD, params: { content, meta } };
}

/** A peer wrote the text: it must neither end the element that a client wraps it in nor start a line of its own. */
function oneLine(text: string): string {
  return text.replace(/[\r\n\u0085\u2028\u2029]+/g, " ").replace(/<\s*\/\s*channel\s*>/gi, "[/channel]");
}
