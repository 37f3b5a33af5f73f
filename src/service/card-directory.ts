import { createHash } from "node:crypto";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Config } from "../config/schema.ts";
import type { Caller } from "../domain/caller.ts";
import { BatonError } from "../domain/errors.ts";
import type { AgentDirectory } from "./agents.ts";
import type { Call } from "./call.ts";
import { agentCard, skillsFor } from "./card.ts";
import { publicKeySet, type SigningKey } from "./card-keys.ts";
import { type PrintCard, signCard } from "./card-signing.ts";
import { withLegacyInterfaces } from "./card-v03.ts";

/** On an extended card: what the calling endpoint may do, and within which limits; docs/extensions/endpoint.md. */
export const ENDPOINT_URI = "urn:baton:a2a:endpoint:v1";
const ENDPOINT_DESCRIPTION = "What the calling endpoint may do here, within which limits and until when.";

export interface CardDirectoryOptions {
  readonly agents: AgentDirectory;
  readonly config: Pick<Config, "limits" | "streams" | "publicUrl">;
  /** Push notifications are offered. */
  readonly push: boolean;
  readonly keys: readonly SigningKey[];
  readonly print: PrintCard;
  publicUrl(): string;
}

/** A card as it is served to anybody. */
export interface PublishedCard {
  readonly card: AgentCard;
  /** The same for the same content on every replica, whatever the signatures look like. */
  readonly digest: string;
  /** When this process first served it, milliseconds since the epoch. */
  readonly since: number;
}

/** Bases come from proxies; so many cards are remembered at most. */
const MAX_CACHED = 256;

/** The cards of all agents: public, and extended for one caller. */
export class CardDirectory {
  readonly #options: CardDirectoryOptions;
  readonly #published = new Map<string, Promise<PublishedCard>>();

  constructor(options: CardDirectoryOptions) {
    this.#options = options;
  }

  /** Public halves of the keys that sign, as a JWK each. */
  get keys(): readonly JsonObject[] {
    return publicKeySet(this.#options.keys).keys as JsonObject[];
  }

  /** The unsigned card of an agent, shown or not; the default agent's for an empty name. */
  plain(name: string, base?: string): AgentCard | undefined {
    const { agents, config, push } = this.#options;
    const asked = name || agents.defaultAgent;
    if (!agents.has(asked)) return undefined;
    const agent = agents.get(asked);
    const publicUrl = config.publicUrl === undefined && base !== undefined ? base : this.#options.publicUrl();
    const card = agentCard(agent, { publicUrl, isDefault: asked === agents.defaultAgent, push });
    // Before a host of major 2 the older version may be spoken but not advertised (openwop.md section 4).
    const { backend } = agent.config;
    return backend !== "todo" && backend.major === 2 ? card : withLegacyInterfaces(card);
  }

  /** The signed card of an agent that strangers may know of; undefined for any other (SB-67). */
  async published(name: string, base?: string): Promise<PublishedCard | undefined> {
    const asked = name || this.#options.agents.defaultAgent;
    if (!this.#options.agents.isDiscoverable(asked)) return undefined;
    const card = this.plain(asked, base);
    if (card === undefined) return undefined;
    const key = `${asked} ${base ?? ""} ${this.#options.publicUrl()}`;
    let published = this.#published.get(key);
    if (published === undefined) {
      if (this.#published.size >= MAX_CACHED) this.#published.clear();
      published = this.#publish(card);
      this.#published.set(key, published);
    }
    return published;
  }

  /**
   * The card for one caller (Q15): its own skills, queues, limits and end; nothing of anybody else (A2A-113). Throws
   * UnsupportedOperation where the agent offers none (A2A-110), ExtendedAgentCardNotConfigured where it has none (A2A-111).
   */
  async extended(call: Call): Promise<AgentCard> {
    const { extendedCard } = this.#options.agents.get(call.agent).config;
    if (extendedCard === "off") {
      throw new BatonError("UnsupportedOperation", "this agent has no extended card");
    }
    const card = extendedCard === "none" ? undefined : this.plain(call.agent);
    if (card === undefined) {
      throw new BatonError("ExtendedAgentCardNotConfigured", "no extended card is configured for this agent");
    }
    call.responseHeaders.set("cache-control", "private, no-store");
    const { caller } = call;
    const { $typeName: _, $unknown: __, ...fields } = card;
    const extended = create(AgentCardSchema, {
      ...fields,
      skills: skillsFor(this.#options.agents.get(call.agent).config, caller.verbs),
      capabilities: {
        streaming: caller.capabilities.streaming,
        pushNotifications: this.#options.push && caller.capabilities.push,
        extendedAgentCard: true,
        extensions: [
          ...(card.capabilities?.extensions ?? []),
          {
            uri: ENDPOINT_URI,
            description: ENDPOINT_DESCRIPTION,
            required: false,
            params: this.#endpointParams(caller),
          },
        ],
      },
    });
    return signCard(extended, this.#options.keys, this.#options.print);
  }

  #endpointParams(caller: Caller): JsonObject {
    const { limits, streams } = this.#options.config;
    return {
      queues: [...caller.queues],
      verbs: [...caller.verbs],
      limits: {
        send: { ...limits.send },
        calls: { ...limits.perEndpoint },
        streams: streams.perEndpoint,
        bodyBytes: limits.bodyBytes,
      },
      ...(caller.expiresAt === undefined ? {} : { expiresAt: new Date(caller.expiresAt).toISOString() }),
    };
  }

  async #publish(card: AgentCard): Promise<PublishedCard> {
    const { keys, print } = this.#options;
    const kids = keys.map(({ kid }) => kid);
    const digest = createHash("sha256")
      .update(JSON.stringify([print(card), kids]))
      .digest("base64url")
      .slice(0, 22);
    return { card: await signCard(card, keys, print), digest, since: Date.now() };
  }
}
