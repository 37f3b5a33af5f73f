import { describe, expect, it } from "vitest";
import { A2AService as A2AServiceV03 } from "../../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { routesOf } from "../../../src/transports/rest/binding.ts";
import { fixedFirstSegments, Router } from "../../../src/transports/rest/router.ts";
import { compileTemplate, matchTemplate } from "../../../src/transports/rest/template.ts";

function router(
  ...sources: string[]
): Router<{ httpMethod: string; template: ReturnType<typeof compileTemplate> }> {
  return new Router(sources.map((source) => ({ httpMethod: "GET", template: compileTemplate(source) })));
}

function matched(
  target: ReturnType<typeof router>,
  path: string,
): [string, Record<string, string>] | undefined {
  const match = target.match(path.split("/").slice(1))?.byMethod.get("GET");
  if (match === undefined) return undefined;
  const captures = match.captures.map(({ field, raw }) => [field, raw.join("/")]);
  return [match.route.template.source, Object.fromEntries(captures)];
}

describe("templates", () => {
  it.each([
    ["/a", "/a", {}],
    ["/a", "/b", undefined],
    ["/a", "/a/b", undefined],
    ["/{x}", "/1", { x: "1" }],
    ["/{x=*}", "/", undefined],
    ["/a/{x=**}", "/a", { x: "" }],
    ["/a/{x=**}", "/a/b/c", { x: "b/c" }],
    ["/a/*/c", "/a/b/c", {}],
    ["/v1/{name=tasks/*}", "/v1/tasks/7", { name: "tasks/7" }],
    ["/v1/{name=tasks/*}", "/v1/jobs/7", undefined],
    ["/{a}/x/{b.c=y/*}/z", "/1/x/y/2/z", { a: "1", "b.c": "y/2" }],
  ])("%s against %s", (source, path, expected) => {
    const captures = matchTemplate(compileTemplate(source), path.split("/").slice(1));
    const found = captures?.map(({ field, raw }) => [field, raw.join("/")]);
    expect(found === undefined ? undefined : Object.fromEntries(found)).toEqual(expected);
  });

  it.each(["a", "/a/**/b", "/{x=**}/b", "/{x", "/{x-y}"])("refuses %s", (source) => {
    expect(() => compileTemplate(source)).toThrow();
  });

  it("reads a verb after the last variable only", () => {
    expect(compileTemplate("/tasks/{id=*}:cancel").verb).toBe("cancel");
    expect(compileTemplate("/message:send").verb).toBe("send");
    expect(compileTemplate("/tasks/{id=*}").verb).toBeUndefined();
  });
});

describe("Router", () => {
  it("prefers what is spelled out", () => {
    const some = router("/{a}/{b}", "/x/{b}", "/x/y", "/x/{b=**}");
    expect(matched(some, "/x/y")?.[0]).toBe("/x/y");
    expect(matched(some, "/x/z")?.[0]).toBe("/x/{b}");
    expect(matched(some, "/x/z/w")?.[0]).toBe("/x/{b=**}");
    expect(matched(some, "/w/z")?.[0]).toBe("/{a}/{b}");
  });

  it("FR-60 a known verb belongs to its routes alone; another colon is data", () => {
    const some = router("/tasks/{id}", "/tasks/{id}:pause", "/files/{id}");
    expect(matched(some, "/tasks/1:pause")).toEqual(["/tasks/{id}:pause", { id: "1" }]);
    expect(matched(some, "/tasks/1:2:pause")).toEqual(["/tasks/{id}:pause", { id: "1:2" }]);
    expect(matched(some, "/tasks/1:other")).toEqual(["/tasks/{id}", { id: "1:other" }]);
    expect(matched(some, "/tasks/1%3Apause")).toEqual(["/tasks/{id}", { id: "1%3Apause" }]);
    expect(matched(some, "/files/1:pause")).toBeUndefined();
  });

  it("a first segment that routes spell out is no variable", () => {
    const some = router("/tasks", "/message:send", "/{tenant}/tasks", "/{tenant}/message:send");
    expect(matched(some, "/acme/tasks")).toEqual(["/{tenant}/tasks", { tenant: "acme" }]);
    expect(matched(some, "/tasks/tasks")).toBeUndefined();
    expect(matched(some, "/message:send/tasks")).toBeUndefined();
    expect(matched(some, "/message/tasks")?.[1]).toEqual({ tenant: "message" });
  });

  it("knows the words that no agent may have for a name", () => {
    const templates = routesOf(A2AService).map(({ template }) => template);
    expect(fixedFirstSegments(templates)).toEqual(
      new Set(["tasks", "message:send", "message:stream", "extendedAgentCard"]),
    );
  });

  it("serves the rules of A2A 0.3 with the same engine", () => {
    const routes = new Router(routesOf(A2AServiceV03));
    const path = (method: string, text: string) => {
      const match = routes.match(text.slice(1).split("/"))?.byMethod.get(method);
      return [match?.route.binding.method.name, match?.captures.map(({ raw }) => raw.join("/"))];
    };
    expect(path("POST", "/v1/message:send")).toEqual(["SendMessage", []]);
    expect(path("GET", "/v1/tasks/7")).toEqual(["GetTask", ["tasks/7"]]);
    expect(path("POST", "/v1/tasks/7:cancel")).toEqual(["CancelTask", ["tasks/7"]]);
    expect(path("POST", "/v1/tasks/7:subscribe")).toEqual(["TaskSubscription", ["tasks/7"]]);
    expect(path("GET", "/v1/card")).toEqual(["GetAgentCard", []]);
  });
});
