import { clone, type DescMessage, equals, type Message, type MessageShape, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AgentCardSchema,
  MessageSchema,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { legacyInterfaces } from "../../../src/service/card-v03.ts";
import { readCard, writeCard } from "../../../src/transports/v03/translate/kind/card.ts";
import { readEvent, readMessageKind, readTask } from "../../../src/transports/v03/translate/kind/read.ts";
import { readSetPushParams } from "../../../src/transports/v03/translate/kind/read-request.ts";
import {
  writeEvent,
  writeMessage,
  writeTask,
  writeTaskPushConfig,
} from "../../../src/transports/v03/translate/kind/write.ts";
import { cardFromV03, cardToV03 } from "../../../src/transports/v03/translate/proto/card.ts";
import { messageFromV03, messageToV03 } from "../../../src/transports/v03/translate/proto/message.ts";
import {
  taskPushConfigFromV03,
  taskPushConfigToV03,
} from "../../../src/transports/v03/translate/proto/push-config.ts";
import {
  sendRequestFromV03,
  sendRequestToV03,
} from "../../../src/transports/v03/translate/proto/send-request.ts";
import {
  eventFromV03,
  eventToV03,
  sendResponseFromV03,
  sendResponseToV03,
  taskFromV03,
  taskToV03,
} from "../../../src/transports/v03/translate/proto/task.ts";
import { arbitraryMessage } from "./arbitrary.ts";
import { applyLosses, type Dialect, documentedLosses, type Loss } from "./losses.ts";

const RUNS = 2_000;
const losses = documentedLosses();

/** 1.0 to 0.3 to 1.0 for one type, with what makes a generated message one that has a form in 0.3 at all. */
interface Trip<D extends DescMessage = DescMessage> {
  readonly name: string;
  readonly desc: D;
  readonly dialect: Dialect;
  there(message: MessageShape<D>): MessageShape<D>;
  readonly valid?: (message: MessageShape<D>) => boolean;
}

function trip<D extends DescMessage>(each: Trip<D>): Trip {
  // The list holds trips of different types; each is only called with messages of its own.
  return each as unknown as Trip;
}

/** JSON that went over a wire. */
function wire<T>(json: T): T {
  return JSON.parse(JSON.stringify(json)) as T;
}

const named = (config: MessageShape<typeof TaskPushNotificationConfigSchema>) =>
  config.taskId !== "" && config.id !== "" && !config.taskId.includes("/");
const speaksV03 = (card: MessageShape<typeof AgentCardSchema>) => legacyInterfaces(card).length > 0;

const trips: Trip[] = [
  trip({
    name: "messages",
    desc: MessageSchema,
    dialect: "kind",
    there: (message) => readMessageKind(wire(writeMessage(message))),
  }),
  trip({
    name: "tasks",
    desc: TaskSchema,
    dialect: "kind",
    there: (task) => readTask(wire(writeTask(task))),
  }),
  trip({
    name: "events",
    desc: StreamResponseSchema,
    dialect: "kind",
    there: (event) => readEvent(wire(writeEvent(event))),
  }),
  trip({
    name: "push configs",
    desc: TaskPushNotificationConfigSchema,
    dialect: "kind",
    there: (config) => readSetPushParams(wire(writeTaskPushConfig(config))),
    valid: named,
  }),
  trip({
    name: "cards",
    desc: AgentCardSchema,
    dialect: "kind",
    there: (card) => readCard(wire(writeCard(card) ?? {})),
    valid: speaksV03,
  }),
  trip({
    name: "messages",
    desc: MessageSchema,
    dialect: "proto",
    there: (message) => messageFromV03(messageToV03(message)),
  }),
  trip({ name: "tasks", desc: TaskSchema, dialect: "proto", there: (task) => taskFromV03(taskToV03(task)) }),
  trip({
    name: "events",
    desc: StreamResponseSchema,
    dialect: "proto",
    there: (event) => eventFromV03(eventToV03(event)),
  }),
  trip({
    name: "answers",
    desc: SendMessageResponseSchema,
    dialect: "proto",
    there: (answer) => sendResponseFromV03(sendResponseToV03(answer)),
  }),
  trip({
    name: "send requests",
    desc: SendMessageRequestSchema,
    dialect: "proto",
    there: (request) => sendRequestFromV03(sendRequestToV03(request)),
    valid: ({ configuration }) => (configuration?.taskPushNotificationConfig?.taskId ?? "") === "",
  }),
  trip({
    name: "push configs",
    desc: TaskPushNotificationConfigSchema,
    dialect: "proto",
    there: (config) => taskPushConfigFromV03(taskPushConfigToV03(config)),
    valid: named,
  }),
  trip({
    name: "cards",
    desc: AgentCardSchema,
    dialect: "proto",
    there: (card) => cardFromV03(cardToV03(card)),
    valid: speaksV03,
  }),
];

/** The original without what the rows say is lost. */
function expected({ desc, dialect }: Trip, message: Message, rows: readonly Loss[]): Message {
  const copy = clone(desc, message);
  applyLosses(
    desc,
    copy,
    rows.filter(({ dialects }) => dialects.includes(dialect)),
  );
  return copy;
}

function arbitraryOf({ desc, valid }: Trip): fc.Arbitrary<Message> {
  const all = arbitraryMessage(desc);
  return valid === undefined ? all : all.filter(valid);
}

describe("A2A-161 to A2A-170: 1.0 to 0.3 to 1.0", () => {
  it.each(trips)(
    "$dialect: $name lose nothing but what docs/a2a-0.3.md lists",
    (each) => {
      fc.assert(
        fc.property(arbitraryOf(each), (message) => {
          const want = expected(each, message, losses);
          const got = each.there(message);
          // The JSON makes a readable difference; the comparison of messages also sees presence.
          expect(toJson(each.desc, got)).toEqual(toJson(each.desc, want));
          expect(equals(each.desc, got, want)).toBe(true);
        }),
        { numRuns: RUNS },
      );
    },
    120_000,
  );

  const claims = losses.flatMap((loss) => loss.dialects.map((dialect) => ({ loss, dialect })));

  it.each(claims)(
    "$dialect: $loss.text is really lost",
    ({ loss, dialect }) => {
      const others = losses.filter((each) => each !== loss);
      const lost = trips
        .filter((each) => each.dialect === dialect)
        .some((each) => {
          const samples = fc.sample(arbitraryOf(each), { numRuns: 300, seed: 7 });
          return samples.some(
            (message) => !equals(each.desc, each.there(message), expected(each, message, others)),
          );
        });
      expect(lost).toBe(true);
    },
    60_000,
  );
});
