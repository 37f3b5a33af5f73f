import type { JsonObject } from "@bufbuild/protobuf";
import * as z from "zod";
import { DEFAULT_LEASE_SECONDS, type DefaultLease } from "../../../service/default-lease.ts";
import { defineTool } from "./tool.ts";

function leaseJson({ effective, own }: DefaultLease): JsonObject {
  return {
    default_lease_ttl_seconds: own ?? null,
    effective_lease_ttl_seconds: effective,
    min_lease_ttl_seconds: DEFAULT_LEASE_SECONDS.min,
    max_lease_ttl_seconds: DEFAULT_LEASE_SECONDS.max,
  };
}

const getDefaultLease = defineTool({
  name: "get_default_lease",
  description: "Read the lease that a claim gets when it names none.",
  readOnly: true,
  input: z.strictObject({}),
  run: async ({ leases }, _input, call) => leaseJson(await leases.get(call)),
});

const setDefaultLease = defineTool({
  name: "set_default_lease",
  description: "Set the lease that the claims of this endpoint get when they name none.",
  input: z.strictObject({
    default_lease_ttl_seconds: z
      .int()
      .min(DEFAULT_LEASE_SECONDS.min)
      .max(DEFAULT_LEASE_SECONDS.max)
      .nullable()
      .describe("In seconds; null: the server's default."),
  }),
  run: async ({ leases }, input, call) => leaseJson(await leases.set(input.default_lease_ttl_seconds, call)),
});

export const LEASES = [getDefaultLease, setDefaultLease];
