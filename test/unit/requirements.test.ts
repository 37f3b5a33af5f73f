import { describe, expect, it } from "vitest";
import { citationsIn, coverageOf } from "../../scripts/requirements/citations.ts";
import { testNames } from "../../scripts/requirements/test-names.ts";

describe("requirement citations", () => {
  it("reads single numbers and ranges", () => {
    expect([...citationsIn("A2A-61 X-1a SB-9 OW-3, FR-12: text")]).toEqual([
      "A2A-61",
      "SB-9",
      "OW-3",
      "FR-12",
    ]);
    expect([...citationsIn("A2A-82 to A2A-84 stream")]).toEqual(["A2A-82", "A2A-83", "A2A-84"]);
    expect([...citationsIn("SB-1 to 3")]).toEqual(["SB-1", "SB-2", "SB-3"]);
    expect([...citationsIn("UTF-8 is text")]).toEqual(["UTF-8"]);
  });

  it("tells what is covered, what is missing and what does not exist", () => {
    const families = { ZZ: { title: "z", first: 1, last: 4, notServer: { 3: "a client" } } };
    expect(coverageOf(families, ["ZZ-1 a", "ZZ-1 b", "ZZ-9 c", "UTF-8"])).toEqual({
      covered: { "ZZ-1": ["ZZ-1 a", "ZZ-1 b"] },
      missing: ["ZZ-2", "ZZ-4"],
      unknown: ["ZZ-9"],
    });
  });
});

describe("names of tests in a source", () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ["titles", 'describe("a", () => { it("b", () => {}); test("c", () => {}); });', ["a", "b", "c"]],
    [
      "chained forms",
      'it.concurrent("a", f); describe.skipIf(x)("b", f); it.for([])("c", f);',
      ["a", "b", "c"],
    ],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a test
    ["templates", "it(`a ${b} c`, f);", ["a … c"]],
    ["sums", 'it("a " + "b", f);', ["a b"]],
    ["tables", 'it.each([["a", 1], [`b`, 2]])("c %s", f);', ["c %s", "a", "b"]],
    [
      "scenarios in lists",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a test
      'const T = [scenario("a", f), ...["x"].map((y) => scenario(`b ${y}`, f))];',
      ["a", "b …"],
    ],
    ["own functions that take a name", 'function refused(name: string) {} refused("a"); other("b");', ["a"]],
    [
      "nothing that is skipped",
      'it.skip("a", f); it.todo("b"); describe.skip("c", () => { it("d", f); });',
      [],
    ],
    [
      "no messages, comments or data",
      'it("a", () => { expect(1, "ZZ-1 b").toBe(1); /* it("ZZ-2") */ });',
      ["a"],
    ],
  ];
  it.each(cases)("finds %s", (_, source, names) => {
    expect(testNames(source).toSorted()).toEqual([...names].toSorted());
  });
});
