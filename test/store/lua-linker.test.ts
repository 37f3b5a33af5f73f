import { describe, expect, it } from "vitest";
import { link, readLibrary } from "../../src/store/lua-linker.ts";

const lib = (source: string, place = "lib") => readLibrary(place, source);

/** The first lines of what a script gets of libraries. */
function linked(script: string, ...sources: readonly string[]): string[] {
  const text = link(
    "script",
    script,
    sources.map((source, index) => lib(source, `lib${index}`)),
  );
  return text
    .slice(0, text.length - script.length)
    .split("\n")
    .slice(0, -1);
}

describe("a linked script", () => {
  it("holds what it reaches, through other definitions too, in the order of the libraries", () => {
    const base = "local P = KEYS[1]\nlocal unused = 1\nlocal function key(id) return P .. id end";
    const upper = "local function get(id) return redis.call('GET', key(id)) end\nlocal function other() end";
    expect(linked("return get(ARGV[1])", base, upper)).toEqual([
      "local P = KEYS[1]",
      "local function key(id) return P .. id end",
      "local function get(id) return redis.call('GET', key(id)) end",
    ]);
  });

  it("is the script alone where it reaches nothing", () => {
    expect(link("script", "return 1", [lib("local a = 1")])).toBe("return 1");
  });

  it("takes a name for no reference in a text, in a comment and as a field", () => {
    const source = "local a = 1\nlocal b = 2\nlocal c = 3\nlocal d = 4\nlocal e = 5";
    const script = 'return t.a .. \'b\' .. "c \\" c" .. t:d() -- e';
    expect(linked(script, source)).toEqual([]);
    expect(linked("return 'x'..a", source)).toEqual(["local a = 1"]);
    expect(linked("return 1 ..a", source)).toEqual(["local a = 1"]);
    expect(linked("return f(...,a)", source)).toEqual(["local a = 1"]);
  });

  it("keeps a function of many lines whole, with blank lines and comments inside it", () => {
    const body = [
      "local function f(list)",
      "  for _, x in ipairs(list) do",
      "",
      "    -- comment with end and )",
      "    if x then while x do x = nil end end",
      "    repeat x = 'end' until true",
      "  end",
      "  return { [1] = '}' }",
      "end",
    ];
    expect(linked("return f({})", `-- above\n\n${body.join("\n")}\n-- below\nlocal z = 1`)).toEqual(body);
  });

  it("gives a name that is declared first and defined later both of its parts, and what the later one reaches", () => {
    const source = [
      "local print_it",
      "local function early(x) return print_it(x) end",
      "local function text(x) return 't' .. x end",
      "print_it = function(x) return text(x) end",
      "local late = 1",
    ];
    expect(linked("return early(1)", source.join("\n"))).toEqual(source.slice(0, 4));
  });

  it("does not take a local of a function for a definition further down", () => {
    const source = "local function f() local late = 1 return late end\nlocal late = 2";
    expect(linked("return f()", source)).toEqual(["local function f() local late = 1 return late end"]);
  });

  it("keeps names that are defined together", () => {
    const source = "local a, b = 1, 2\nlocal list = {\n  a,\n}";
    expect(linked("return b", source)).toEqual(["local a, b = 1, 2"]);
    expect(linked("return list", source)).toEqual(["local a, b = 1, 2", "local list = {", "  a,", "}"]);
  });
});

describe("a library that is not understood is refused, with its line", () => {
  it.each([
    ["a statement that does something", "local a = 1\nredis.call('DEL', a)", "lib:2: not a definition"],
    ["a loop", "local a = 1\n\nfor i = 1, 2 do\n  a = i\nend", "lib:3: not a definition"],
    ["a return", "return 1", "lib:1: not a definition"],
    ["a global function", "function f() end", "lib:1: not a definition"],
    ["a global variable", "a = 1", "lib:1: a is not declared"],
    ["a field", "local t = {}\nt.x = 1", "lib:2: not a definition"],
    ["a name declared again", "local a = 1\nlocal a = 2", "lib:2: a is declared twice"],
    [
      "a body in the first column",
      "local function f()\nreturn 1\nend",
      "lib:2: stands inside of a statement",
    ],
    ["a function without its end", "local function f()\n  return 1\nlocal a = 1", "lib:3: stands inside of"],
    ["a last function without its end", "local function f()\n  return 1", "lib: ends inside of a statement"],
    ["an end too much", "local function f() end\nend", "lib:2: closes nothing"],
    ["a long text", "local a = [[x]]", "lib:1: long brackets are not understood"],
    ["a long comment", "--[==[\nlocal a = 1\n]==]", "lib:1: long brackets are not understood"],
    ["a text without its end", "local a = 'x\nlocal b = 1", "lib:1: a text without its end"],
  ])("%s", (_, source, message) => {
    expect(() => lib(source)).toThrow(message);
  });

  it("a name of another library", () => {
    expect(() => linked("return a", "local a = 1", "local b = 1\nlocal a = 2")).toThrow(
      "lib1:2: a stands in another library",
    );
  });
});
