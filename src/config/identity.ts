/** Settings about people: who signs for them, who of them may operate this gateway, and who may ask for access. */
import { z } from "zod";
import { FRIEND_VERBS } from "../domain/friendship.ts";

const seconds = (what: string, fallback: number, min: number, max: number) =>
  z.number().min(min).max(max).default(fallback).describe(`${what}, in seconds. Default ${fallback}.`);

const httpsUrl = z.string().regex(/^https:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/, "must be an https:// address");

const issuer = z
  .strictObject({
    issuer: httpsUrl.describe("The `iss` of its tokens, character for character."),
    audiences: z
      .array(z.string().min(1))
      .min(1)
      .describe("Accepted `aud`: the client id or name that this gateway has with the issuer."),
    jwksUrl: httpsUrl
      .optional()
      .describe("Where its keys are. Default: what `<issuer>/.well-known/openid-configuration` says."),
  })
  .describe("An OpenID Connect issuer whose ID tokens say who a person is.");

/** Who a person is. */
export const identity = z
  .strictObject({
    issuers: z.array(issuer).default([]).describe("Issuers that are trusted. Default: none."),
    clockSkewSeconds: seconds("How far an issuer's clock may be from ours", 30, 0, 300),
    maxAgeSeconds: seconds("Oldest ID token that is accepted, by its `iat`", 3600, 60, 86_400),
    keysSeconds: seconds("How long an issuer's keys are kept", 600, 10, 86_400),
    allow: z
      .array(
        z.strictObject({
          cidr: z.string(),
          ports: z.array(z.union([z.number().int(), z.string()])).optional(),
        }),
      )
      .default([])
      .describe("Issuers in the operator's own network, as narrow as can be; always https."),
    allowNames: z.array(z.string()).default([]).describe("Internal names of issuers that may be resolved."),
    caFiles: z
      .array(z.string())
      .default([])
      .describe("PEM files of authorities that are trusted besides the platform's."),
  })
  .describe("People's identities; see docs/onboard.md and docs/secure.md.");

/** People who may use the admin services with an ID token in place of the admin credential. */
export const people = z
  .array(
    z.strictObject({
      name: z
        .string()
        .min(1)
        .max(128)
        .describe(
          "The `owner` of the agents and endpoints that are theirs. Not `operator`, `system` or `admin`.",
        ),
      issuer: httpsUrl.describe("One of `identity.issuers`."),
      subject: z.string().min(1).describe("The `sub` of their tokens."),
    }),
  )
  .default([])
  .describe("People who may manage what they own, and nothing else, with an ID token of their issuer.");

/** Friend requests. */
export const onboarding = z
  .strictObject({
    grantableVerbs: z
      .array(z.enum(FRIEND_VERBS))
      .min(1)
      .default(["create_for"])
      .describe(
        "What a friend may ever be granted (SB-63). Default: to hand work over; the verbs of workers are off.",
      ),
    quota: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(16)
      .describe("Pending and approved requests of one person. Default 16."),
    pickupSeconds: seconds("How long after approval the credential can be fetched", 604_800, 1, 31_536_000),
    perAddress: z
      .strictObject({
        perSecond: z.number().positive().max(1_000_000).default(5),
        burst: z.number().int().min(1).max(1_000_000).default(10),
      })
      .prefault({})
      .describe(
        "Friend requests and pickups of one address: refill per second and burst. Default 5/s, burst 10.",
      ),
  })
  .describe("Friend requests; offered where `identity.issuers` names an issuer. See docs/onboard.md.");
