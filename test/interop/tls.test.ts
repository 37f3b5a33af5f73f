/** The official client against a gateway with a certificate: what production looks like. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { credentials } from "@grpc/grpc-js";
import { Agent, fetch as undiciFetch } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../egress/certificates.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { GRPC_PATHS } from "./grpc-paths.ts";

describe.each(GRPC_PATHS)("a gateway with TLS and $path", ({ listen, bindings }) => {
  const authority = createAuthority("Interop test root");
  let folder: string;
  let gateway: TestGateway;
  let trusting: Agent;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "baton-tls-"));
    const { cert, key } = authority.issue({ names: ["localhost"], addresses: ["127.0.0.1"] });
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    gateway = await startTestGateway({ listen: { ...listen, tls: { certFile, keyFile } } });
    trusting = new Agent({ connect: { ca: authority.ca } });
  });
  afterAll(async () => {
    await trusting?.close();
    await gateway?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** `fetch` with the test's root. undici's types are those of its own copy of the same interfaces. */
  const trustingFetch = ((input: string, init?: object) =>
    undiciFetch(input, { ...init, dispatcher: trusting })) as unknown as typeof fetch;

  it.each(bindings)(
    "A2A-16 A2A-178 the card says https, and %s sends, reads and cancels over it",
    async (binding) => {
      const fetchImpl = trustingFetch;
      const resolver = new DefaultAgentCardResolver({ fetchImpl });
      const card = await resolver.resolve(gateway.url);
      const urls = card.supportedInterfaces.filter((offered) => offered.protocolBinding !== "GRPC");
      for (const { url } of urls) expect(url).toMatch(/^https:/);
      const client = await new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports: [
            new JsonRpcTransportFactory({ fetchImpl }),
            new RestTransportFactory({ fetchImpl }),
            new GrpcTransportFactory({
              grpcChannelCredentials: credentials.createSsl(Buffer.from(authority.ca)),
            }),
          ],
          preferredTransports: [binding],
        }),
      ).createFromAgentCard(card);
      expect(client.transport.protocolName).toBe(binding);
      const options = { serviceParameters: { authorization: `Bearer ${await gateway.vend()}` } };
      const answer = await client.sendMessage(
        {
          tenant: "",
          message: {
            messageId: randomUUID(),
            role: Role.ROLE_USER,
            contextId: "",
            taskId: "",
            parts: [
              {
                content: { $case: "text", value: "in secret" },
                filename: "",
                mediaType: "",
                metadata: undefined,
              },
            ],
            extensions: [],
            metadata: undefined,
            referenceTaskIds: [],
          },
          configuration: {
            acceptedOutputModes: [],
            taskPushNotificationConfig: undefined,
            historyLength: undefined,
            returnImmediately: true,
          },
          metadata: undefined,
        },
        options,
      );
      if (!("status" in answer)) throw new Error("the answer is no task");
      const { id } = answer;
      expect((await client.getTask({ tenant: "", id, historyLength: undefined }, options)).id).toBe(id);
      const canceled = await client.cancelTask({ tenant: "", id, metadata: undefined }, options);
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    },
  );
});
