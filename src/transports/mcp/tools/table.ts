import { CLAIMING } from "./claiming.ts";
import { CREATING } from "./creating.ts";
import { FINISHING } from "./finishing.ts";
import { LEASES } from "./leases.ts";
import { READING } from "./reading.ts";
import { TELLING } from "./telling.ts";
import type { Tool } from "./tool.ts";

/** Every tool by its name, in the order in which they are listed. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [...CREATING, ...READING, ...CLAIMING, ...TELLING, ...FINISHING, ...LEASES].map((tool) => [
    tool.name,
    tool,
  ]),
);
