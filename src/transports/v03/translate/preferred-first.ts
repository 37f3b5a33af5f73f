/** One address of a 0.3 card. */
export interface LegacyAddress {
  readonly url: string;
  readonly transport: string;
}

/** All addresses of a 0.3 card in order of preference. The preferred one is usually among the additional ones too. */
export function preferredFirst(
  preferred: LegacyAddress | undefined,
  additional: readonly LegacyAddress[],
): readonly LegacyAddress[] {
  if (preferred === undefined) return additional;
  const { url, transport } = preferred;
  const at = additional.findIndex((each) => each.url === url && each.transport === transport);
  return [preferred, ...additional.filter((_, index) => index !== at)];
}
