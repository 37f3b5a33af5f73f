/** Finds the names of tests in a source file, by its syntax and not by its text. */
import { parseSync } from "@swc/core";

/** Calls whose first argument names a test. */
const NAMING = new Set(["it", "test", "describe", "scenario"]);
/** Forms of them that run nothing. */
const IDLE = new Set(["skip", "todo"]);

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * The titles of `it`, `test`, `describe` and `scenario`, those of a file's own functions whose first parameter is called
 * `name` or `title`, and the texts in the tables of `.each`. What stands in for a value in a title is shown as `…`.
 * Skipped tests have no say.
 */
export function testNames(source: string): string[] {
  const module = parseSync(source, { syntax: "typescript" }) as unknown as Node;
  const naming = new Set([...NAMING, ...ownNamingFunctions(module)]);
  const names: string[] = [];
  visit(module, (node) => {
    if (node.type !== "CallExpression") return true;
    const callee = calleeOf(node.callee as Node);
    if (callee === undefined || !naming.has(callee.root)) return true;
    if (callee.members.some((member) => IDLE.has(member))) return false;
    const inTable = callee.members.at(-1) === "each";
    const [first] = node.arguments as readonly { readonly expression: Node }[];
    if (first === undefined) return true;
    if (inTable) names.push(...textsIn(first.expression));
    else {
      const title = textOf(first.expression);
      if (title !== undefined) names.push(title);
    }
    return true;
  });
  return names;
}

/** `describe.skipIf(x).each` is root `describe` with members `skipIf` and `each`. */
function calleeOf(node: Node): { readonly root: string; readonly members: readonly string[] } | undefined {
  if (node.type === "Identifier") return { root: String(node.value), members: [] };
  if (node.type === "CallExpression") return calleeOf(node.callee as Node);
  if (node.type === "TaggedTemplateExpression") return calleeOf(node.tag as Node);
  if (node.type !== "MemberExpression") return undefined;
  const inner = calleeOf(node.object as Node);
  const { value } = node.property as Node;
  return inner === undefined ? undefined : { root: inner.root, members: [...inner.members, String(value)] };
}

function ownNamingFunctions(module: Node): string[] {
  const found: string[] = [];
  visit(module, (node) => {
    if (node.type !== "FunctionDeclaration") return true;
    const [first] = node.params as readonly { readonly pat: Node }[];
    const parameter = first?.pat.type === "Identifier" ? String(first.pat.value) : "";
    if (parameter === "name" || parameter === "title") found.push(String((node.identifier as Node).value));
    return true;
  });
  return found;
}

/** Text of a literal or template; undefined for anything else. */
function textOf(node: Node): string | undefined {
  if (node.type === "StringLiteral") return String(node.value);
  if (node.type === "ParenthesisExpression") return textOf(node.expression as Node);
  if (node.type === "BinaryExpression" && node.operator === "+") {
    return `${textOf(node.left as Node) ?? "…"}${textOf(node.right as Node) ?? "…"}`;
  }
  if (node.type !== "TemplateLiteral") return undefined;
  return (node.quasis as readonly { readonly cooked: string }[]).map(({ cooked }) => cooked).join("…");
}

function textsIn(node: Node): string[] {
  const texts: string[] = [];
  visit(node, (inner) => {
    const text = textOf(inner);
    if (text !== undefined) texts.push(text);
    return text === undefined;
  });
  return texts;
}

/** Calls `enter` for each node from the outside in; its children only if it says so. */
function visit(node: Node, enter: (node: Node) => boolean): void {
  if (!enter(node)) return;
  for (const value of Object.values(node)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item !== "object" || item === null) continue;
      if ("type" in item && typeof item.type === "string") visit(item as Node, enter);
      // Arguments, parameters and list elements wrap their nodes.
      else for (const inner of Object.values(item)) if (isNode(inner)) visit(inner, enter);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
