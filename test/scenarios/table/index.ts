import type { Scenario } from "../scenario.ts";
import { AUTH } from "./auth.ts";
import { BAD_INPUT } from "./bad-input.ts";
import { CANCEL } from "./cancel.ts";
import { CARD } from "./card.ts";
import { GET } from "./get.ts";
import { LIST } from "./list.ts";
import { PAGING } from "./paging.ts";
import { PUSH_CONFIG } from "./push-config.ts";
import { REPLY } from "./reply.ts";
import { SEND } from "./send.ts";
import { STREAM } from "./stream.ts";
import { SUBSCRIBE } from "./subscribe.ts";
import { VERSIONS } from "./versions.ts";

export const TABLE: readonly Scenario[] = [
  ...SEND,
  ...REPLY,
  ...GET,
  ...LIST,
  ...PAGING,
  ...CANCEL,
  ...STREAM,
  ...SUBSCRIBE,
  ...PUSH_CONFIG,
  ...CARD,
  ...AUTH,
  ...BAD_INPUT,
  ...VERSIONS,
];
