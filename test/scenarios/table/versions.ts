/** Version negotiation and extensions. */
import { expect } from "vitest";
import { type Scenario, scenario } from "../scenario.ts";

const only: { versions: readonly ["1.0"] } = { versions: ["1.0"] };

export const VERSIONS: readonly Scenario[] = [
  ...["1.0", "1.0.0", "1.0.1", "1.0.17"].map((version) =>
    scenario(
      `A2A-20 A2A-21 FR-58 version ${version} is served`,
      async ({ alice }) => {
        expect((await alice.with({ version }).start()).id).not.toBe("");
      },
      only,
    ),
  ),

  ...["0.2", "0.5", "1.1", "2.0", "99.0", "abc", "1", "1.0-beta", "1.0,0.3"].map((version) =>
    scenario(
      `A2A-20 FR-58 version ${version} is VersionNotSupported, and ours are named`,
      async ({ alice, refused }) => {
        const { id } = await alice.start();
        const client = alice.with({ version });
        for (const call of [() => client.get(id), () => client.start(), () => client.subscribe(id)]) {
          const seen = await refused(call(), "VersionNotSupported");
          expect(seen.metadata.supportedVersions?.split(",")).toContain("1.0");
        }
      },
      only,
    ),
  ),

  scenario(
    "A2A-151 A2A-135 a 1.0 form without a version is served as 1.0",
    async ({ alice }) => {
      for (const version of [null, "", " "]) {
        expect((await alice.with({ version }).start()).id).not.toBe("");
      }
    },
    { needs: ["1.0-form"] },
  ),

  scenario(
    "A2A-20 a 1.0 form asked for as 0.3 is a method that 0.3 lacks",
    async ({ alice, refused }) => {
      const client = alice.with({ version: "0.3" });
      for (const call of [() => client.start(), () => client.get("x"), () => client.subscribe("x")]) {
        await refused(call(), "MethodNotFound");
      }
    },
    only,
  ),

  scenario(
    "A2A-18 the version may stand in the query, and the header wins over it",
    async ({ alice, refused }) => {
      const client = alice.with({ version: null, query: { "A2A-Version": "1.0" } });
      expect((await client.start()).id).not.toBe("");
      const unknown = { "A2A-Version": "99.0" };
      await refused(client.with({ query: unknown }).start(), "VersionNotSupported");
      await refused(client.with({ version: " ", query: unknown }).start(), "VersionNotSupported");
      expect((await client.with({ version: "1.0", query: unknown }).start()).id).not.toBe("");
      await refused(client.with({ version: "99.0" }).start(), "VersionNotSupported");
    },
    { needs: ["json"], versions: ["1.0"] },
  ),

  scenario(
    "A2A-23 names of service parameters are matched in any case",
    async ({ alice, refused }) => {
      const client = alice.with({ version: null, headers: { "A2A-VERSION": "99.0" } });
      await refused(client.start(), "VersionNotSupported");
    },
    only,
  ),

  scenario("A2A-27 extensions that the agent lacks are ignored", async ({ alice }) => {
    const client = alice.with({
      headers: { "a2a-extensions": "https://example.com/a/v1, ,https://example.com/b/v2" },
    });
    expect((await client.start()).id).not.toBe("");
  }),

  scenario("A2A-160 an answer carries a request id, and so does a refusal", async ({ alice, refused }) => {
    const { headers } = await alice.call("GetTask", { id: (await alice.start()).id });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const { headers: refusal } = await refused(alice.get("never-was"), "TaskNotFound");
    expect(refusal.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  }),
];
