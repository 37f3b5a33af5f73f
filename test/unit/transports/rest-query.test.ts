import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ListTasksRequest, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { AUTH, startA2AServer, type TestServer } from "./a2a-server.ts";
import { type Reply, send1 } from "./client.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startA2AServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
});

function list(query: string): Promise<Reply> {
  return send1(server.port1, { path: `/tasks?${query}`, headers: AUTH });
}

async function asked(query: string): Promise<ListTasksRequest> {
  const answer = await list(query);
  expect(answer.text).not.toContain("error");
  return server.seen.at(-1)?.request as ListTasksRequest;
}

describe("the query of ListTasks", () => {
  it.each([
    "contextId=C%201&status=TASK_STATE_WORKING&pageSize=7&pageToken=a%2Bb&historyLength=0&includeArtifacts=true",
    "context_id=C+1&status=2&page_size=7&page_token=a%2bb&history_length=0&include_artifacts=true",
  ])("A2A-119, A2A-120 reads %s", async (query) => {
    expect(await asked(query)).toMatchObject({
      contextId: "C 1",
      status: TaskState.WORKING,
      pageSize: 7,
      pageToken: "a+b",
      historyLength: 0,
      includeArtifacts: true,
    });
  });

  it("A2A-66 includeArtifacts decides about the key", async () => {
    expect((await list("includeArtifacts=true")).json.tasks[0].artifacts).toEqual([]);
    expect((await list("includeArtifacts=false")).json.tasks[0]).not.toHaveProperty("artifacts");
    expect((await list("")).json.tasks[0]).not.toHaveProperty("artifacts");
  });

  it("A2A-62 an empty page has its four members", async () => {
    expect((await list("contextId=none")).text).toBe(
      '{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}',
    );
  });

  it.each([
    ["pageSize", "pageSize=abc"],
    ["pageSize", "pageSize=1.5"],
    ["pageSize", "pageSize=0x10"],
    ["pageSize", "pageSize=1e1"],
    ["pageSize", "pageSize="],
    ["pageSize", "pageSize=2147483648"],
    ["pageSize", "pageSize=1&pageSize=2"],
    ["pageSize", "pageSize=1&page_size=2"],
    ["includeArtifacts", "includeArtifacts=yes"],
    ["includeArtifacts", "includeArtifacts=1"],
    ["status", "status=working"],
    ["status", "status=TASK_STATE_ODD"],
    ["statusTimestampAfter", "statusTimestampAfter=yesterday"],
    ["statusTimestampAfter", "statusTimestampAfter=2025-13-01T00:00:00Z"],
    ["statusTimestampAfter", "statusTimestampAfter=2025-02-30T00:00:00Z"],
    ["statusTimestampAfter", "statusTimestampAfter=2025-01-01T00:00:00"],
    ["contextId", "contextId=%ff"],
    ["contextId", "contextId=%zz"],
  ])("A2A-120, FR-3, FR-43 names %s for %s", async (field, query) => {
    const answer = await list(query);
    expect(answer.status).toBe(400);
    expect(answer.json.error.details[1].fieldViolations[0].field).toBe(field);
    expect(server.seen).toEqual([]);
  });

  it("A2A-120 every wrong parameter is named", async () => {
    const answer = await list("pageSize=x&status=y");
    const fields = answer.json.error.details[1].fieldViolations.map((each: { field: string }) => each.field);
    expect(fields).toEqual(["pageSize", "status"]);
  });

  it.each([
    "A2A-Version=1.0",
    "unknown=1",
    "__proto__=1",
    "constructor=x",
    "a.b=c",
    "&&=&x",
    "lastUpdatedBefore=x",
  ])("A2A-120 ignores %s", async (query) => {
    expect((await list(query)).status).toBe(200);
  });

  const noon = BigInt(Date.UTC(2025, 0, 1, 12) / 1000);

  it.each([
    "statusTimestampAfter=2025-01-01T12:00:00Z",
    "statusTimestampAfter=2025-01-01T17:30:00%2B05:30",
    "statusTimestampAfter=2025-01-01T17:30:00+05:30",
    "status_timestamp_after=2025-01-01T12:00:00.000000000Z",
    "lastUpdatedAfter=2025-01-01T12:00:00Z",
  ])("FR-3, A2A-116, A2A-124 %s is one instant", async (query) => {
    expect((await asked(query)).statusTimestampAfter?.seconds).toBe(noon);
  });

  it("A2A-124 the alias belongs to ListTasks alone", async () => {
    const path = "/tasks/T1?lastUpdatedAfter=rubbish";
    expect((await send1(server.port1, { path, headers: AUTH })).status).toBe(200);
    expect((await list("lastUpdatedAfter=rubbish")).status).toBe(400);
  });

  it("FR-65 a query that contradicts the path is refused", async () => {
    const path = "/tasks/T1?id=T2";
    expect((await send1(server.port1, { path, headers: AUTH })).status).toBe(400);
    expect((await send1(server.port1, { path: "/tasks/T1?id=T1", headers: AUTH })).status).toBe(200);
  });
});
