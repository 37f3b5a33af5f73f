import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { valuesTable, withTable } from "../../scripts/chart/readme.ts";
import { valuesJsonSchema } from "../../scripts/chart/schema.ts";
import { valuesSchema } from "../../scripts/chart/values.ts";
import { createMetrics, printMetrics } from "../../src/telemetry/metrics.ts";
import { startTestGateway } from "../gateway.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

describe("what is generated of the chart", () => {
  it("values.schema.json is current", () => {
    expect(JSON.parse(read("helm/baton/values.schema.json"))).toEqual(
      JSON.parse(JSON.stringify(valuesJsonSchema())),
    );
  });

  it("the table of values in README.md is current, with a text for each value", () => {
    const readme = read("helm/baton/README.md");
    expect(withTable(readme, valuesTable(read("helm/baton/values.yaml")))).toBe(readme);
  });

  it("the schema knows each default, and the defaults fill the schema", () => {
    expect(valuesSchema.parse(parse(read("helm/baton/values.yaml")))).toBeTruthy();
  });

  it("H11 the chart is of the version of the program", () => {
    const { version } = JSON.parse(read("package.json"));
    expect(parse(read("helm/baton/Chart.yaml"))).toMatchObject({ version, appVersion: version });
  });
});

describe("alerts and dashboard", () => {
  const words = (text: string) => new Set(text.match(/\b(?:baton|rpc_server)_[a-z_]+\b/g));

  it("name only metrics that the gateway serves", async () => {
    const gateway = await startTestGateway();
    try {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      const served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ""));
      const used = [
        ...words(read("helm/baton/files/dashboard.json")),
        ...words(read("helm/baton/templates/prometheusrule.yaml")),
      ];
      expect(used.length).toBeGreaterThan(10);
      for (const name of used) {
        expect(served.has(name) || served.has(name.replace(/_(bucket|sum|count)$/, "")), name).toBe(true);
      }
    } finally {
      await gateway.stop();
    }
  });

  it("a source of metrics that throws costs its own families alone", async () => {
    const errors: unknown[] = [];
    const metrics = createMetrics({
      version: "1",
      extra: () => Promise.reject(new Error("no")),
      onError: (error) => errors.push(error),
    });
    expect(await printMetrics([await metrics.snapshot()])).toContain("baton_build_info");
    expect(errors).toHaveLength(1);
  });
});
