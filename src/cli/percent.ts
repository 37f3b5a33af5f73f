import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { messageText } from "./task-text.ts";

/**
 * How much of the work is done, 0 to 100, where a progress message says so: as `percent` in its metadata or in a part of
 * data, or in words such as `40 %`. Undefined where it does not.
 */
export function percentOf(message: Message | undefined): number | undefined {
  if (message === undefined) return undefined;
  const { metadata } = message;
  const inData = message.parts.flatMap(({ content }) => {
    if (content.case !== "data" || content.value.kind.case !== "structValue") return [];
    const { kind } = content.value.kind.value.fields.percent ?? {};
    return kind?.case === "numberValue" ? [kind.value] : [];
  });
  const inWords = /(?<![\w.,])(\d{1,3}(?:\.\d+)?) ?%/.exec(messageText(message))?.[1];
  const said = [metadata?.percent, ...inData, inWords === undefined ? undefined : Number(inWords)];
  return said.find((each): each is number => typeof each === "number" && each >= 0 && each <= 100);
}
