import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";

/** What a request asked for that shows in the JSON of its answer. */
export interface PrintOptions {
  /** JSON names of lists that are printed even when they are empty. */
  readonly emptyLists: ReadonlySet<string>;
}

export const PLAIN: PrintOptions = { emptyLists: new Set() };

interface Include {
  readonly request: DescField;
  readonly list: string;
}

const includes = new WeakMap<DescMessage, readonly Include[]>();

/**
 * A request field `bool include_<list>` that is true asks for `<list>` in each result, so that an empty one is printed
 * as `[]`: with `includeArtifacts` a task without artifacts says so, and without it the key is absent (A2A-66).
 */
export function printOptionsFor(desc: DescMessage, request: Message): PrintOptions {
  const asked = includesOf(desc).filter(({ request: field }) => {
    // Fields of a generated message are its properties by local name.
    return (request as Message & Record<string, unknown>)[field.localName] === true;
  });
  return asked.length === 0 ? PLAIN : { emptyLists: new Set(asked.map(({ list }) => list)) };
}

function includesOf(desc: DescMessage): readonly Include[] {
  const known = includes.get(desc);
  if (known !== undefined) return known;
  const found = desc.fields
    .filter((field) => field.name.startsWith("include_"))
    .map((field) => ({ request: field, list: camelCase(field.name.slice("include_".length)) }));
  includes.set(desc, found);
  return found;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
