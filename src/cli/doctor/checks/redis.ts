import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findRedisServer } from "../../../redis/find-server.ts";
import type { Check, Patient } from "../check.ts";
import { type Finding, fault, ok, skipped, warning } from "../finding.ts";
import type { RedisView, ServerFacts } from "../redis-view.ts";

const LIMIT_MS = 10_000;
/** The oldest major that works: sharded channels came with it (docs/redis.md). */
const OLDEST = 7;
const SKEW_MS = 1000;

export const redisReach: Check = {
  name: "redis",
  about:
    "Redis answers, takes the credentials and lets Baton do what it does; or a server program is there to start.",
  needs: ["redis", "dataDir"],
  limitMs: LIMIT_MS,
  async run(patient) {
    const { kind, servers, findings } = await patient.redis();
    if (kind === "embedded" && servers.length + findings.length === 0) return [await serverProgram(patient)];
    const judged = servers.map(({ address, info, forbidden }) => {
      if (forbidden !== undefined) {
        return fault(
          `the user of ${address} may not do what Baton does: ${forbidden}`,
          "Let it run scripts, streams and sharded channels on baton:*, such as ACL SETUSER <user> ~* &* +@all -@dangerous +info +config|get.",
        );
      }
      if (info.get("role") === "slave") {
        return fault(
          `${address} is a replica, which takes no changes`,
          "Name the primary, or let redis.sentinel find it.",
        );
      }
      return ok(`${address} answers`);
    });
    return [...judged, ...findings];
  },
};

async function serverProgram({ environment }: Patient): Promise<Finding> {
  let program: string;
  try {
    program = findRedisServer({ env: { ...environment } });
  } catch (error) {
    const [found = "", ...advice] = (error instanceof Error ? error.message : String(error)).split("\n");
    return fault(found, advice.join(" ").trim() || "Or name a running server with BATON_REDIS_URL.");
  }
  const { stdout } = await promisify(execFile)(program, ["--version"], { timeout: 3000 });
  const version = /\bv=(\d[\d.]*)/.exec(stdout)?.[1];
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST) {
    return fault(`${program} is ${version}`, `Install Redis ${OLDEST}.0 or newer, or Valkey.`);
  }
  return ok(`baton serve starts ${program} (${version ?? "of an unknown version"})`);
}

/** A check of what each server says of itself. */
function ofServers(
  name: string,
  about: string,
  judge: (server: ServerFacts, patient: Patient, view: RedisView) => readonly Finding[],
): Check {
  return {
    name,
    about,
    needs: ["redis", "dataDir"],
    limitMs: LIMIT_MS,
    async run(patient) {
      const view = await patient.redis();
      if (view.servers.length > 0) return view.servers.flatMap((server) => judge(server, patient, view));
      return [
        view.kind === "embedded" && view.findings.length === 0
          ? ok("as `baton serve` sets up its own")
          : skipped("no server can be asked"),
      ];
    },
  };
}

export const redisVersion = ofServers(
  "redis version",
  "Redis is 7.0 or newer, or Valkey.",
  ({ address, info }) => {
    const version = info.get("redis_version") ?? "";
    const valkey = info.get("valkey_version");
    if (Number.parseInt(version, 10) < OLDEST) {
      return [
        fault(
          `${address} is Redis ${version}`,
          `Run Redis ${OLDEST}.0 or newer, or Valkey: streams of tasks come over sharded channels.`,
        ),
      ];
    }
    return [ok(`${address} is ${valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`}`)];
  },
);

export const redisPersistence = ofServers(
  "redis persistence",
  "The server writes an append-only file, flushes it, and its last writes succeeded.",
  ({ address, info, settings }, { config }) => {
    const findings: Finding[] = [];
    const bad = config.redis.persistence === "accept-loss" ? warning : fault;
    const save = settings?.get("save") ?? "";
    const appends = info.get("aof_enabled") === "1";
    if (!appends) {
      const instead =
        save === "" ? "and no snapshots" : `only snapshots (save ${save}), between which everything is lost`;
      findings.push(
        bad(
          `${address} keeps no append-only file, ${instead}`,
          "appendonly yes in its configuration, and CONFIG SET appendonly yes now. Without, Baton does not call itself ready.",
        ),
      );
    } else if (settings?.get("appendfsync") === "no") {
      findings.push(
        bad(
          `${address} never flushes its append-only file (appendfsync no): half a minute can be lost with the power`,
          "appendfsync everysec, or always.",
        ),
      );
    }
    if (appends && info.get("aof_last_write_status") === "err") {
      findings.push(
        fault(
          `${address} could not write its append-only file, and takes no changes`,
          "Look at its disk and its log.",
        ),
      );
    }
    if (appends && info.get("aof_last_bgrewrite_status") === "err") {
      findings.push(
        warning(
          `${address} could not make its append-only file smaller`,
          "Look at its disk, its memory and its log.",
        ),
      );
    }
    const stops = settings?.get("stop-writes-on-bgsave-error") !== "no" && save !== "";
    if (stops && info.get("rdb_last_bgsave_status") === "err") {
      findings.push(
        fault(
          `${address} could not write its snapshot, and takes no changes`,
          "Look at its disk and its log.",
        ),
      );
    }
    if (findings.length > 0) return findings;
    const flush = settings?.get("appendfsync");
    return [
      ok(`${address} keeps an append-only file${flush === undefined ? "" : ` (appendfsync ${flush})`}`),
    ];
  },
);

export const redisMemory = ofServers(
  "redis memory",
  "The server never evicts keys, and its memory is not nearly used up.",
  ({ address, info }) => {
    const findings: Finding[] = [];
    const policy = info.get("maxmemory_policy");
    const number = (field: string) => Number(info.get(field) ?? 0);
    const [used, most, machine] = [number("used_memory"), number("maxmemory"), number("total_system_memory")];
    if (policy !== undefined && policy !== "noeviction") {
      findings.push(
        fault(
          `${address} throws keys away when its memory is full (maxmemory-policy ${policy}): parts of tasks`,
          "maxmemory-policy noeviction in its configuration, and CONFIG SET now.",
        ),
      );
    }
    const room = most > 0 ? most : machine;
    const share = room > 0 ? used / room : 0;
    const uses = `${address} uses ${Math.round(share * 100)} % of ${most > 0 ? "maxmemory" : "the machine's memory"}`;
    const advice = "Give it more memory, or keep less: retention.terminalSeconds, retention.maxTasks.";
    if (share >= 0.95) findings.push(fault(`${uses}; full, it takes no changes`, advice));
    else if (share >= 0.8) findings.push(warning(uses, advice));
    return findings.length > 0 ? findings : [ok(`${uses}, and never evicts`)];
  },
);

export const redisReplicas = ofServers(
  "redis replicas",
  "As many replicas are in step as redis.waitReplicas asks for.",
  ({ address, info }, { config }, { kind }) => {
    const { waitReplicas } = config.redis;
    if (kind === "single" || kind === "embedded") {
      if (waitReplicas === 0) return [ok("one server, and no replicas asked for")];
      return [
        warning(
          `redis.waitReplicas is ${waitReplicas}, which counts with Sentinel and Cluster only`,
          "Name the sentinels or the cluster, or remove it.",
        ),
      ];
    }
    const online = [...info].filter(
      ([key, value]) => /^slave\d+$/.test(key) && value.includes("state=online"),
    );
    if (online.length < waitReplicas) {
      return [
        fault(
          `${address} has ${online.length} replicas in step, redis.waitReplicas asks for ${waitReplicas}: changes are refused`,
          "Start the replicas, or ask for fewer.",
        ),
      ];
    }
    if (online.length === 0) return [warning(`${address} has no replica that could take over`, "Start one.")];
    return [ok(`${address} has ${online.length} replicas in step`)];
  },
);

export const redisClock = ofServers(
  "clock",
  "The clocks of Redis and of this machine agree within a second.",
  ({ address, skewMs }) => {
    if (Math.abs(skewMs) <= SKEW_MS) return [ok(`${address} and this machine agree`)];
    const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
    return [
      warning(
        `the clock of ${address} is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} this machine's`,
        "Run an NTP client on both: leases, expiry and signatures are judged by these clocks.",
      ),
    ];
  },
);
