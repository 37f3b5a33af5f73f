import type { Check } from "./check.ts";
import { configuration } from "./checks/configuration.ts";
import { dataFolder } from "./checks/data-folder.ts";
import { egress } from "./checks/egress.ts";
import { environment } from "./checks/environment.ts";
import { dns, publicUrl } from "./checks/names.ts";
import { issuers, openwopHosts } from "./checks/peers.ts";
import { ports } from "./checks/ports.ts";
import { node, openFiles } from "./checks/process.ts";
import {
  redisClock,
  redisMemory,
  redisPersistence,
  redisReach,
  redisReplicas,
  redisVersion,
} from "./checks/redis.ts";
import { adminToken, cardKeys, pushKey } from "./checks/secrets.ts";
import { tls } from "./checks/tls.ts";

/** Every check, in the order in which they are told. */
export const CHECKS: readonly Check[] = [
  configuration,
  environment,
  node,
  openFiles,
  dataFolder,
  redisReach,
  redisVersion,
  redisPersistence,
  redisMemory,
  redisReplicas,
  redisClock,
  tls,
  ports,
  publicUrl,
  dns,
  egress,
  pushKey,
  issuers,
  cardKeys,
  adminToken,
  openwopHosts,
];
