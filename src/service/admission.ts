import type { DescMethod } from "@bufbuild/protobuf";
import { A2AService as A2AServiceV03 } from "../../gen/a2a/v1/a2a_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError } from "../domain/errors.ts";
import type { BucketLimit, TokenBuckets } from "../store/token-buckets.ts";
import type { Call, RequestMeta } from "./call.ts";

export interface AdmissionLimits {
  readonly perAddress: BucketLimit;
  readonly perEndpoint: BucketLimit;
  readonly send: BucketLimit;
}

/**
 * Under either version: a peer must not get more by speaking the older one. By name, since a transport may hand over a
 * descriptor that it has made from ours.
 */
const SENDS: ReadonlySet<string> = new Set(
  [
    A2AService.method.sendMessage,
    A2AService.method.sendStreamingMessage,
    A2AServiceV03.method.sendMessage,
    A2AServiceV03.method.sendStreamingMessage,
  ].map(fullName),
);

const sends = new WeakMap<DescMethod, boolean>();

function isSend(method: DescMethod): boolean {
  const known = sends.get(method);
  if (known !== undefined) return known;
  const found = SENDS.has(fullName(method));
  sends.set(method, found);
  return found;
}

function fullName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Rate limits, before and after the caller is known (SB-51, SB-52; todo-delegation Q13). */
export class Admission {
  readonly #buckets: TokenBuckets;
  readonly #limits: AdmissionLimits;

  constructor(buckets: TokenBuckets, limits: AdmissionLimits) {
    this.#buckets = buckets;
    this.#limits = limits;
  }

  /** Before any look-up of a credential. Throws RateLimited; undefined: admitted at once. */
  address(meta: RequestMeta): Promise<void> | undefined {
    const { perAddress } = this.#limits;
    if (this.#buckets.takeHeld(perAddress, meta.remoteAddress)) return undefined;
    return this.#buckets.take(perAddress, meta.remoteAddress).then(refuseIf);
  }

  /** Before the handler. Throws RateLimited; undefined: admitted at once. */
  call(call: Call, method: DescMethod): Promise<void> | undefined {
    return this.endpoint(call.caller.id, isSend(method));
  }

  /**
   * Charges an endpoint. A send is charged before it is looked at, so that a replay costs one too (Q11). Throws
   * RateLimited; undefined: admitted at once.
   */
  endpoint(id: string, sends: boolean): Promise<void> | undefined {
    const { perEndpoint, send } = this.#limits;
    const open: Promise<number>[] = [];
    if (!this.#buckets.takeHeld(perEndpoint, id)) open.push(this.#buckets.take(perEndpoint, id));
    if (sends && !this.#buckets.takeHeld(send, id)) open.push(this.#buckets.take(send, id));
    if (open.length === 0) return undefined;
    return Promise.all(open).then((waits) => refuseIf(Math.max(...waits)));
  }
}

function refuseIf(waitMs: number): void {
  if (waitMs > 0) throw new BatonError("RateLimited", "too many requests", { retryAfterMs: waitMs });
}
