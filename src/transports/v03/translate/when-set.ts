/** One member, or none where the value is undefined: an optional field must not be there at all rather than be undefined. */
export function whenSet<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  // A computed key widens to string; the record has this one member.
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}
