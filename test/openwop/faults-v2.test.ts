import { faultTable } from "./fault-table.ts";

faultTable(2);
