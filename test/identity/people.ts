/** A gateway that takes friend requests, its operator, and requesters from outside. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { EndpointService } from "../../gen/baton/admin/v1/endpoint_pb.js";
import { GrantService } from "../../gen/baton/admin/v1/grant_pb.js";
import type { Gateway } from "../../src/server/gateway.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { AUDIENCE, type TestIssuer } from "./issuer.ts";

const OPEN = { perSecond: 10_000, burst: 10_000 };

/** The part of a configuration that trusts the issuer. */
export async function identityOf(issuer: TestIssuer, folder: string): Promise<Record<string, unknown>> {
  const caFile = join(folder, `issuer-${issuer.port}.pem`);
  await writeFile(caFile, issuer.ca);
  return {
    issuers: [{ issuer: issuer.issuer, audiences: [AUDIENCE] }],
    allow: [{ cidr: "127.0.0.1/32", ports: [issuer.port] }],
    caFiles: [caFile],
  };
}

export async function startFriendlyGateway(
  issuer: TestIssuer,
  folder: string,
  document: Record<string, unknown> = {},
): Promise<TestGateway> {
  return startTestGateway({
    identity: await identityOf(issuer, folder),
    onboarding: { perAddress: OPEN },
    ...document,
  });
}

export function adminOf(gateway: Gateway, token = gateway.adminToken) {
  const transport = createGrpcTransport({
    baseUrl: gateway.adminUrl,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return {
    endpoints: createClient(EndpointService, transport),
    grants: createClient(GrantService, transport),
  };
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  // What a test reads out of it, it states itself.
  readonly json: Record<string, unknown>;
}

export async function ask(
  gateway: Gateway,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  const response = await fetch(`${gateway.url}/a2a/friend-requests`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}

/** A request that is in order, by the issuer's `alice`, with changes. */
export async function bodyOf(issuer: TestIssuer, change: Record<string, unknown> = {}) {
  return {
    to_persona: "default",
    from_persona: "alice's helper",
    requested_queues: ["default"],
    requested_verbs: ["create_for"],
    reason: "to hand over reports",
    provenance: await issuer.token(),
    ...change,
  };
}

export async function pickUp(gateway: Gateway, id: string, token: string): Promise<HttpAnswer> {
  const response = await fetch(`${gateway.url}/a2a/friend-requests/${id}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}

/** Asks, has it approved and picks up; answers the friendship with its credential. */
export async function befriend(
  gateway: Gateway,
  issuer: TestIssuer,
  change: Record<string, unknown> = {},
  approval: Record<string, unknown> = {},
) {
  const asked = await ask(gateway, await bodyOf(issuer, change));
  if (asked.status !== 202) throw new Error(JSON.stringify(asked.json));
  const id = String(asked.json.request_id);
  const pickupToken = String(asked.json.pickup_token);
  const { grant } = await adminOf(gateway).grants.approveGrant({ id, ...approval });
  const { json } = await pickUp(gateway, id, pickupToken);
  return { id, pickupToken, credential: String(json.credential), endpointId: grant?.endpointId ?? "" };
}
