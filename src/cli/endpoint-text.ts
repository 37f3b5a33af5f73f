import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import { type Endpoint, EndpointState } from "../../gen/baton/admin/v1/endpoint_pb.js";

export function endpointState(endpoint: Endpoint): string {
  return endpoint.state === EndpointState.ACTIVE ? "active" : "revoked";
}

/** An endpoint, for people. */
export function endpointText(endpoint: Endpoint): string {
  const { scope, expiresAt, lastSeenAt, defaultLease } = endpoint;
  const may = [...(scope?.verbs ?? [])];
  if (scope?.streaming === true) may.push("streaming");
  if (scope?.push === true) may.push("push");
  const lines = [
    `${endpoint.id}  ${endpoint.name}  ${endpointState(endpoint)}`,
    `agent ${endpoint.agent}, queues ${scope?.queues.join(", ") ?? ""}, credential ${endpoint.credentialPrefix}...`,
    `may ${may.join(", ")}`,
  ];
  if (defaultLease !== undefined) lines.push(`lease ${durationMs(defaultLease) / 1000} s`);
  if (expiresAt !== undefined) lines.push(`ends ${timestampDate(expiresAt).toISOString()}`);
  if (lastSeenAt !== undefined) lines.push(`last used ${timestampDate(lastSeenAt).toISOString()}`);
  return lines.join("\n");
}
