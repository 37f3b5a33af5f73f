/** Settings about signatures of agent cards. */
import { z } from "zod";

const signingKey = z
  .strictObject({
    kid: z.string().min(1).max(256).describe("Name of the key, by which verifiers find its public half."),
    file: z.string().min(1).optional().describe("PEM (PKCS #8) or JWK file of the private key."),
    env: z.string().min(1).optional().describe("Environment variable that holds the same."),
    algorithm: z
      .enum(["ES256", "EdDSA", "RS256", "PS256"])
      .optional()
      .describe("Default: what the key is for; RS256 for an RSA key that does not say."),
    jku: z
      .string()
      .regex(/^https:\/\//, "must be an https:// address")
      .optional()
      .describe(
        "Where the public keys are published. A hint: verifiers should trust hosts of their own choice.",
      ),
  })
  .superRefine((value, context) => {
    if ((value.file === undefined) === (value.env === undefined)) {
      context.addIssue({ code: "custom", message: "give one of file and env" });
    }
  });

export const cards = z
  .strictObject({
    maxAgeSeconds: z
      .number()
      .int()
      .min(0)
      .max(86_400)
      .default(60)
      .describe("How long a public card may be cached, in seconds (A2A-179). Default 60."),
    signing: z
      .array(signingKey)
      .default([])
      .describe(
        "Keys that sign every card, each with a signature of its own; two while one takes over from the other (A2A-189). Default: unsigned.",
      ),
  })
  .superRefine((value, context) => {
    const kids = value.signing.map(({ kid }) => kid);
    if (new Set(kids).size < kids.length) {
      context.addIssue({ code: "custom", path: ["signing"], message: "two keys have the same kid" });
    }
  })
  .describe("Serving and signing of agent cards.");

export type SigningKeyConfig = z.infer<typeof signingKey>;
