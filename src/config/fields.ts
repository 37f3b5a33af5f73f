/** Kinds of setting that several sections share. */
import { z } from "zod";

export const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/,
    "1 to 64 of letters, digits, '.', '_', '~', '-', starting with a letter or digit",
  );

export const seconds = (what: string, fallback: number, min = 0, max = 31_536_000) =>
  z.number().min(min).max(max).default(fallback).describe(`${what}, in seconds. Default ${fallback}.`);

export const bucket = (what: string, perSecond: number, burst: number) =>
  z
    .strictObject({
      perSecond: z.number().positive().max(1_000_000).default(perSecond),
      burst: z.number().int().min(1).max(1_000_000).default(burst),
    })
    .prefault({})
    .describe(
      `${what}: refill per second and burst, shared by all replicas. Default ${perSecond}/s, burst ${burst}.`,
    );

export const count = (what: string, fallback: number, min: number, max: number) =>
  z.number().int().min(min).max(max).default(fallback).describe(`${what}. Default ${fallback}.`);
