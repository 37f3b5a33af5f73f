import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentExtensionSchema,
  type AgentInterfaceSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../backends/backend.ts";
import type { AgentConfig } from "../config/schema.ts";
import { PUSH_DELIVERY_DESCRIPTION, PUSH_DELIVERY_URI } from "../push/extension.ts";
import { RESUMABLE_STREAMS_DESCRIPTION, RESUMABLE_STREAMS_URI } from "./resumable-streams.ts";

/** Media types that the agent or one of its skills takes (A2A-37). */
export function acceptedInputModes(config: AgentConfig): readonly string[] {
  return [
    ...new Set([
      ...config.card.defaultInputModes,
      ...config.card.skills.flatMap((skill) => skill.inputModes),
    ]),
  ];
}

type ExtensionInit = MessageInitShape<typeof AgentExtensionSchema> & {
  readonly uri: string;
  readonly required: boolean;
};

/** The extensions that an agent has: those of the gateway, then those that its operator names. */
export function cardExtensions(config: AgentConfig, options: { readonly push: boolean }): ExtensionInit[] {
  const own = { required: false } as const;
  return [
    { uri: RESUMABLE_STREAMS_URI, description: RESUMABLE_STREAMS_DESCRIPTION, ...own },
    ...(options.push ? [{ uri: PUSH_DELIVERY_URI, description: PUSH_DELIVERY_DESCRIPTION, ...own }] : []),
    ...config.card.extensions.map(({ params, ...extension }) => ({
      ...extension,
      ...(params === undefined ? {} : { params: params as JsonObject }),
    })),
  ];
}

export interface CardOptions {
  /** Base of every address, without a trailing slash, such as `https://agents.example`. */
  readonly publicUrl: string;
  /** The default agent stands at the root; any other is named by its tenant. */
  readonly isDefault: boolean;
  /** Push notifications are offered. */
  readonly push: boolean;
}

/** The public card of an agent: what the operator wrote, and what is really served (A2A-178, SB-68). */
export function agentCard(agent: Agent, options: CardOptions): AgentCard {
  const { card } = agent.config;
  const tenant = options.isDefault ? "" : agent.name;
  const base = options.publicUrl;
  const path = tenant === "" ? base : `${base}/${encodeURIComponent(tenant)}`;
  const grpcTarget = new URL(base).host;
  const interfaces: MessageInitShape<typeof AgentInterfaceSchema>[] = [
    { url: withPort(grpcTarget, base), protocolBinding: "GRPC", protocolVersion: "1.0", tenant },
    { url: path, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant },
    { url: base, protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant },
  ];
  return create(AgentCardSchema, {
    name: card.name,
    description: card.description,
    version: card.version,
    supportedInterfaces: interfaces,
    ...(card.provider === undefined ? {} : { provider: card.provider }),
    ...(card.documentationUrl === undefined ? {} : { documentationUrl: card.documentationUrl }),
    ...(card.iconUrl === undefined ? {} : { iconUrl: card.iconUrl }),
    capabilities: {
      streaming: true,
      pushNotifications: options.push,
      extendedAgentCard: agent.config.extendedCard !== "off",
      extensions: cardExtensions(agent.config, options),
    },
    securitySchemes: {
      bearer: {
        scheme: {
          case: "httpAuthSecurityScheme",
          value: { scheme: "Bearer", description: "A credential vended by the operator of this gateway." },
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: skillsFor(agent.config, new Set(agent.config.verbs)),
  });
}

/** The skills whose verbs are all held: by what the agent grants at all, or by one caller (SB-67). */
export function skillsFor(config: AgentConfig, held: ReadonlySet<string>): AgentConfig["card"]["skills"] {
  return config.card.skills.filter(({ verbs = [] }) => verbs.every((verb) => held.has(verb)));
}

/** gRPC addresses are `hostname:port` without a scheme (A2A-149). */
function withPort(host: string, base: string): string {
  if (/:\d+$/.test(host)) return host;
  return `${host}:${base.startsWith("https:") ? 443 : 80}`;
}
