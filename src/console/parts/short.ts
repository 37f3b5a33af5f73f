/** The first characters of an id, enough to tell it from its neighbours; a prefix that says its kind is not counted. */
export function shortId(id: string): string {
  const kind = /^[a-z]{1,4}_/.exec(id)?.[0] ?? "";
  return id.slice(0, kind.length + 8);
}

/** A number with its noun. */
export function counted(number: number | bigint, one: string, several = `${one}s`): string {
  return `${number.toLocaleString()} ${Number(number) === 1 ? one : several}`;
}
