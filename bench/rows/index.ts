import { CLAIM_ROW } from "./claim-to-complete.ts";
import { FAN_OUT_ROWS } from "./fan-out.ts";
import { LIST_ROW } from "./list-tasks.ts";
import { MEMORY_ROW } from "./memory.ts";
import { PUSH_ROW } from "./push.ts";
import { REPLICA_ROW } from "./replica.ts";
import type { Row } from "./row.ts";
import { UNARY_ROWS } from "./unary.ts";

/** The table, in the order in which it is run and printed. */
export const ROWS: readonly Row[] = [
  ...UNARY_ROWS,
  ...FAN_OUT_ROWS,
  REPLICA_ROW,
  LIST_ROW,
  CLAIM_ROW,
  PUSH_ROW,
  MEMORY_ROW,
];
