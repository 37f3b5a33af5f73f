import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);

interface Row {
  readonly name: string;
  readonly value: number;
  readonly peer: number | null;
  readonly ratio: number | null;
  readonly target: string;
  readonly pass: boolean;
  readonly also: Record<string, unknown>;
}

async function bench(...options: string[]): Promise<Row[]> {
  const { stdout } = await run(process.execPath, ["bench/run.ts", "--quick", "--json", ...options]);
  const printed = JSON.parse(stdout) as { rows: Row[] };
  expect(Object.keys(printed)).toEqual(["rows"]);
  return printed.rows;
}

describe("npm run bench", () => {
  it("prints every row of the table of targets as JSON, each measured", { timeout: 300_000 }, async () => {
    const rows = await bench();
    expect(rows.map(({ name }) => name.replace(/\d[\d,.]*/g, "N"))).toEqual([
      "gRPC GetTask, of node:httpN",
      "gRPC GetTask, of @aNa-js/sdk",
      "JSON-RPC GetTask",
      "JSON-RPC SendMessage, returnImmediately",
      "HTTP+JSON GetTask",
      "fan-out on one task, N streams",
      "memory of a stream, N streams",
      "fan-out on one task, N streams",
      "memory of a stream, N streams",
      "commit to a subscriber on another replica, pN at N events/s",
      "ListTasks, first page, at N tasks",
      "claim to complete",
      "push deliveries",
      "memory under mixed load, N min",
    ]);
    for (const row of rows) {
      expect(row).toMatchObject({
        value: expect.any(Number),
        target: expect.stringMatching(/\S/),
        pass: expect.any(Boolean),
      });
      expect(row.also).not.toHaveProperty("error");
      if (row.peer === null) expect(row.ratio).toBeNull();
      else expect(row.ratio).toBeCloseTo(row.value / row.peer);
      expect(row.also.errors ?? 0).toBe(0);
    }
  });

  it("names its rows where none is meant", async () => {
    const refused = await bench("--only", "nothing").catch(
      (error: { stderr: string; code: number }) => error,
    );
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("grpc-get, jsonrpc-get") });
  });
});
