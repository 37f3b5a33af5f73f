import type { Fact, Facts } from "./facts.ts";

/**
 * Every difference between what a definition file should hold and what it holds, one sentence each.
 * Declaration order is compared among the elements that both have, so that one missing element is one difference.
 */
export function compare(should: Facts, is: Facts): string[] {
  const wanted = new Map(should.facts.map((item) => [item.key, item]));
  const found = new Map(is.facts.map((item) => [item.key, item]));
  const all = [...new Set([...wanted.keys(), ...found.keys()])];
  return [
    ...all.flatMap((key) => compareFact(key, wanted.get(key), found.get(key))),
    ...compareOrder(
      should.facts.filter((item) => found.has(item.key)),
      is.facts.filter((item) => wanted.has(item.key)),
    ),
  ];
}

function compareFact(key: string, should: Fact | undefined, is: Fact | undefined): string[] {
  if (!is) return [`${key} is missing`];
  if (!should) return [`${key} should not be there`];
  const names = [...new Set([...should.attributes.keys(), ...is.attributes.keys()])];
  return names.flatMap((name) => {
    const [wanted, found] = [should.attributes.get(name), is.attributes.get(name)];
    return wanted === found
      ? []
      : [`${key}: ${name} is ${found ?? "absent"}, should be ${wanted ?? "absent"}`];
  });
}

function compareOrder(should: readonly Fact[], is: readonly Fact[]): string[] {
  const wanted = Map.groupBy(should, (item) => item.group);
  const found = Map.groupBy(is, (item) => item.group);
  return [...wanted].flatMap(([group, facts]) => {
    // Options are members of one message: the compiled file keeps no order of them.
    if (group.startsWith("file_option")) return [];
    const keys = facts.map((item) => item.key).join(", ");
    const foundKeys = (found.get(group) ?? []).map((item) => item.key).join(", ");
    return keys === foundKeys ? [] : [`order of ${group} is ${foundKeys}, should be ${keys}`];
  });
}

/** The facts with some of them replaced, and those that were not there before added after the others. */
export function amend(facts: Facts, amendments: readonly Fact[]): Facts {
  const byKey = new Map(facts.facts.map((item) => [item.key, item]));
  for (const item of amendments) byKey.set(item.key, item);
  return { package: facts.package, facts: [...byKey.values()] };
}
