/**
 * One element of a definition file: a field, an rpc, an HTTP rule, an option and so on.
 *
 * `key` names it within its file, such as `field Task.id`. `group` holds the elements whose declaration order
 * matters among each other. `attributes` are the properties that must agree, all as text, without the absent ones.
 */
export interface Fact {
  readonly key: string;
  readonly group: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** The elements of one definition file, in declaration order. */
export interface Facts {
  readonly package: string;
  readonly facts: readonly Fact[];
}

/** Builds a fact; attributes that are empty or undefined count as absent. */
export function fact(
  kind: string,
  parent: string,
  name: string,
  attributes: Readonly<Record<string, string | undefined>>,
): Fact {
  const scope = parent ? `${parent}.` : "";
  return {
    key: `${kind} ${scope}${name}`,
    group: `${kind} of ${parent || "file"}`,
    attributes: new Map(
      Object.entries(attributes).flatMap(([key, value]): [string, string][] => (value ? [[key, value]] : [])),
    ),
  };
}
