import { EgressPolicyError } from "./errors.ts";

/** A TCP port, or an inclusive range as text: `443`, `"8000-8999"`. */
export type PortInput = number | string;

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

export function parsePorts(input: readonly PortInput[]): readonly PortRange[] {
  return input.map((item) => {
    const match = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(String(item));
    const from = Number(match?.[1]);
    const to = Number(match?.[2] ?? match?.[1]);
    if (match === null || from < 1 || to > 65535 || from > to) {
      throw new EgressPolicyError(`"${item}" is not a port (1 to 65535) or a range such as "8000-8999"`);
    }
    return { from, to };
  });
}

export function includesPort(ranges: readonly PortRange[], port: number): boolean {
  return ranges.some((range) => port >= range.from && port <= range.to);
}

export function formatPorts(ranges: readonly PortRange[]): string {
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}
