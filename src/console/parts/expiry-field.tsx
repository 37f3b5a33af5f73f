import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Failure } from "../api/failure.ts";
import { Field } from "./field.tsx";

/** When something ends, in the operator's own time zone; empty: never. */
export function ExpiryField(props: {
  readonly label: string;
  readonly value: string;
  readonly failure: Failure | undefined;
  onInput(value: string): void;
}) {
  return <Field {...props} name="expiresAt" type="datetime-local" hint="Empty: it does not end by itself." />;
}

/** What an {@link ExpiryField} holds, as the field of a request. */
export function expiryOf(value: string): { readonly expiresAt?: Timestamp } {
  return value === "" ? {} : { expiresAt: timestampFromDate(new Date(value)) };
}
