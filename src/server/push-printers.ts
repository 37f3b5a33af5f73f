import { StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { BodyPrinters } from "../push/request.ts";
import { printMessage } from "../transports/json/print.ts";
import { writeTask } from "../transports/v03/translate/kind/write.ts";

/** Push bodies, printed by what prints the HTTP+JSON bindings, so that stream and push cannot differ (A2A-191, SB-79). */
export const pushPrinters: BodyPrinters = {
  event: (event) => JSON.stringify(printMessage(StreamResponseSchema, event)),
  task03: (task) => JSON.stringify(writeTask(task)),
};
