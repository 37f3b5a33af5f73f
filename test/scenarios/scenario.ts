/**
 * The one scenario table: a behaviour is written once and proved on every transport and version. A scenario says what
 * people do and what they must see, in terms of the eleven operations and of what a worker does; how that looks on the
 * wire is the driver's business.
 */
import type { ErrorKind, FieldViolation } from "../../src/domain/errors.ts";
import type { TestGateway, VendOptions } from "../gateway.ts";
import type { Peer, TestWorker } from "./actors.ts";
import type { Driver, DriverKind, Feature, SeenError } from "./driver.ts";

export interface ErrorExpectation {
  /** Fields that BadRequest must name, in any order and no others. */
  readonly fields?: readonly FieldViolation["field"][];
  /** Entries that `ErrorInfo.metadata` must hold. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Refused by the transport before Baton had a say: no details. */
  readonly bare?: boolean;
}

/** Fresh people for each run, on a gateway that the runs of a file share. */
export interface World {
  readonly kind: DriverKind;
  readonly driver: Driver;
  readonly gateway: TestGateway;
  /** May submit and stream on the default agent. */
  readonly alice: Peer;
  /** The same rights, somebody else. */
  readonly bob: Peer;
  /** Works the default agent's queues. */
  readonly worker: TestWorker;
  /** A peer with other rights; `agent` and `queues` as in the gateway's configuration below. */
  peer(options?: VendOptions): Promise<Peer>;
  workerOf(options?: VendOptions): Promise<TestWorker>;
  /** Checks that the call fails with the error, as the transport must show it; answers what was seen. */
  refused(call: Promise<unknown>, kind: ErrorKind, expectation?: ErrorExpectation): Promise<SeenError>;
  /** True where the driver has all the features; for the part of a scenario that not all can show. */
  has(...features: readonly Feature[]): boolean;
}

export interface ScenarioOptions {
  /** Not run on drivers that lack one of these. */
  readonly needs?: readonly Feature[];
  /** Versions that can express it. Default: both. */
  readonly versions?: readonly DriverKind["version"][];
  /** Drivers that cannot express it, with the reason. */
  readonly except?: Readonly<Record<string, string>>;
}

/** `except` for what the proto of 0.3 lacks, which its gRPC and HTTP+JSON share (docs/a2a-0.3.md). */
export function notInProto03(reason: string): Readonly<Record<string, string>> {
  return { "grpc 0.3": reason, "rest 0.3": reason };
}

export interface Scenario extends ScenarioOptions {
  readonly name: string;
  run(world: World): Promise<void>;
}

/** Writes a scenario; its name starts with the requirements that it proves. */
export function scenario(name: string, run: Scenario["run"], options: ScenarioOptions = {}): Scenario {
  return { name, run, ...options };
}

export function runsOn({ needs = [], versions, except = {} }: Scenario, kind: DriverKind): boolean {
  if (versions !== undefined && !versions.includes(kind.version)) return false;
  return needs.every((feature) => kind.features.has(feature)) && !(kind.name in except);
}

/** Agents of the shared gateway. */
export const AGENTS = {
  default: { queues: ["default", "deploys"], defaultQueue: "default" },
  /** Another agent, to be kept apart. */
  second: { discoverable: true },
  /** Offers no extended card, and one that declares it without having any (A2A-110, A2A-111). */
  plain: { extendedCard: "off" },
  bare: { extendedCard: "none" },
  /** Cancel of an ended task is an error (A2A-75). */
  strict: { cancelOnTerminal: "error" },
  /** Tasks are seen by all who hold the queue. */
  shared: { visibility: "queue" },
  /** A skill takes images, so they are accepted. */
  painter: {
    card: {
      skills: [{ id: "paint", name: "Paint", description: "Paints over images.", inputModes: ["image/*"] }],
    },
  },
} as const;

export const GATEWAY = {
  agents: AGENTS,
  send: { maxWaitSeconds: 5 },
  retries: { baseSeconds: 0.05, capSeconds: 0.05 },
  leases: { sweepSeconds: 0.2 },
  // Receivers on this machine are allowed, so that a registration needs no name server and reaches nobody.
  push: {
    allow: [{ cidr: "127.0.0.1/32", ports: ["1024-65535"] }],
    registration: { perSecond: 100_000, burst: 100_000 },
  },
};
