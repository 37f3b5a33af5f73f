import { expect } from "vitest";
import type { ReceivedSpan } from "./collector.ts";

/** The one span of a name below a parent. */
export function child(
  spans: readonly ReceivedSpan[],
  parent: ReceivedSpan | string,
  name: string,
): ReceivedSpan {
  const id = typeof parent === "string" ? parent : parent.spanId;
  const [found, ...more] = spans.filter((span) => span.parentId === id && span.name === name);
  const names = spans.map((span) => span.name).join("; ");
  expect(more, `${name} below ${id}`).toEqual([]);
  if (found === undefined) throw new Error(`no ${name} below ${id} among ${names}`);
  return found;
}

/** Every span has its parent among the others, but for the one root. */
export function expectTree(spans: readonly ReceivedSpan[], root: string): void {
  const ids = new Set(spans.map((span) => span.spanId));
  expect(ids.size).toBe(spans.length);
  const loose = spans.filter(({ parentId }) => !ids.has(parentId));
  expect(loose.map(({ spanId }) => spanId)).toEqual([root]);
}
