/** Faults of one machine, each with what to do to it, and the one complaint that it has to lead to. */
import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { authority, type Document, type Rig } from "./doctor-rig.ts";

type Plant = (document: Document) => unknown;
export type Case = readonly [
  fault: string,
  plant: Plant,
  complaint: RegExp,
  environment?: Record<string, string>,
];

const DAY = 86_400_000;

export const plantedFaults = (rig: () => Rig): readonly Case[] => {
  const certificate = async (document: Document, subject: Parameters<typeof authority.issue>[0]) => {
    const { cert, key } = authority.issue(subject);
    document.listen.tls = {
      certFile: await rig().file("bad.pem", cert),
      keyFile: await rig().file("bad.key", key),
    };
  };
  return [
    ["a key out of range", (d) => (d.listen.port = 99_999), /fault configuration: .*listen\.port: Too big/],
    ["a misspelt key", (d) => (d.lissten = {}), /fault configuration: .*"lissten"/],
    [
      "a misspelt variable",
      () => {},
      /warning environment: BATON_ADMIN_TOKN is no variable/,
      { BATON_ADMIN_TOKN: "x" },
    ],
    [
      "a variable of a Kubernetes service link",
      () => {},
      /warning environment: BATON_PORT_7420_TCP .*service called baton/,
      { BATON_PORT_7420_TCP: "tcp://10.0.0.1:7420", BATON_SERVICE_HOST: "10.0.0.1" },
    ],
    [
      "a variable and its file",
      () => {},
      /warning environment: BATON_SECRET_KEY and BATON_SECRET_KEY_FILE/,
      { BATON_SECRET_KEY_FILE: "/dev/null" },
    ],
    [
      "a data folder where no folder can be",
      (d) => {
        d.dataDir = "/proc/baton";
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
      },
      /fault data folder: dataDir: \/proc\/baton lies in proc/,
    ],
    [
      "a data folder below a file",
      async (d) => {
        d.dataDir = join(await rig().file("plain", ""), "data");
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
      },
      /fault data folder: .*plain is no folder/,
    ],
    [
      "an admin credential that others can read",
      async (d) => {
        d.admin = { ...d.admin, host: "127.0.0.1", token: undefined };
        d.dataDir = join(rig().folder, "open");
        await mkdir(d.dataDir, { recursive: true });
        await symlink(await rig().file("open.token", "x"), join(d.dataDir, "admin.token")).catch(() => {});
        await chmod(join(rig().folder, "open.token"), 0o644);
      },
      /warning data folder: .*admin\.token can be read by other users/,
    ],
    [
      "a Redis that is not there",
      (d) => (d.redis.url = "redis://127.0.0.1:1"),
      /fault redis: nothing listens/,
    ],
    [
      "a Redis whose name nobody knows",
      (d) => (d.redis.url = "redis://redis.invalid:6379"),
      /fault redis: the name of redis\.invalid:6379 cannot be resolved/,
    ],
    [
      "TLS towards a Redis without",
      (d) => (d.redis.url = d.redis.url.replace("redis:", "rediss:")),
      /fault redis: .* (does not speak TLS|does not answer in time|says nothing that Redis)/,
    ],
    [
      "a password where none is set",
      (d) => (d.redis.url = d.redis.url.replace("//", "//:geheim@")),
      /fault redis: .*credentials/,
    ],
    [
      "replicas of a single server",
      (d) => (d.redis.waitReplicas = 1),
      /warning redis replicas: redis\.waitReplicas is 1/,
    ],
    [
      "a Redis cluster that is none",
      (d) => (d.redis = { cluster: { nodes: [{ host: "127.0.0.1", port: rig().redis.port }] } }),
      /fault redis: .*is no node of a cluster/,
    ],
    [
      "a certificate that is missing",
      (d) => (d.listen.tls.certFile = "/nonexistent/cert.pem"),
      /fault tls: listen\.tls\.certFile: \/nonexistent\/cert\.pem cannot be read \(ENOENT\)/,
    ],
    [
      "a key of another certificate",
      async (d) =>
        (d.listen.tls.keyFile = await rig().file("other.key", authority.issue({ names: ["x"] }).key)),
      /fault tls: listen\.tls\.keyFile: .*other\.key is not the key of the first certificate/,
    ],
    [
      "an expired certificate",
      (d) => certificate(d, { names: ["localhost"], expired: true }),
      /fault tls: .*bad\.pem expired at/,
    ],
    [
      "a certificate of the future",
      (d) => certificate(d, { names: ["localhost"], valid: [DAY, 90 * DAY] }),
      /fault tls: .*bad\.pem is not valid before/,
    ],
    [
      "a certificate that expires soon",
      (d) => certificate(d, { names: ["localhost"], valid: [-DAY, 5.5 * DAY] }),
      /warning tls: .*bad\.pem expires in 5 days/,
    ],
    [
      "a certificate for another host",
      (d) => certificate(d, { names: ["other.example"] }),
      /fault tls: .*is not for localhost, the host of publicUrl; it is for DNS:other\.example/,
    ],
    [
      "a key that everybody can read",
      async (d) => {
        await certificate(d, { names: ["localhost"] });
        await chmod(d.listen.tls.keyFile, 0o644);
      },
      /warning tls: .*bad\.key can be read by everybody/,
    ],
    [
      "a port that is taken",
      (d) => (d.listen.port = rig().redis.port),
      /fault ports: listen\.port: .*in use by another program/,
    ],
    [
      "one port for both",
      (d) => (d.admin.port = d.listen.port),
      /fault ports: listen\.port and admin\.port are both/,
    ],
    [
      "an address of another machine",
      (d) => (d.listen.host = "203.0.113.9"),
      /fault ports: listen\.host: .*EADDRNOTAVAIL/,
    ],
    [
      "cleartext in publicUrl, TLS on the port",
      (d) => (d.publicUrl = d.publicUrl.replace("https", "http")),
      /fault public address: publicUrl is http:.*speaks TLS/,
    ],
    ["no publicUrl", (d) => delete d.publicUrl, /warning public address: publicUrl is not given/],
    [
      "a wide block in the egress guard",
      (d) => (d.push.allow = [{ cidr: "172.16.0.0/12" }]),
      /warning egress policy: push\.allow\.0: 172\.16\.0\.0\/12 is wide/,
    ],
    [
      "the egress guard switched off",
      (d) => (d.push.allow = [{ cidr: "0.0.0.0/0" }]),
      /fault egress policy: push\.allow\.0: .*would switch the egress guard off/,
    ],
    [
      "metadata in the egress guard",
      (d) => (d.push.allow = [{ cidr: "169.254.169.0/24" }]),
      /warning egress policy: .*holds the metadata address 169\.254\.169\.254/,
    ],
    [
      "cleartext in the egress guard",
      (d) => (d.push.allow[0].plaintext = true),
      /warning egress policy: .*allows http/,
    ],
    [
      "Baton itself in the egress guard",
      (d) => (d.push.allow = [{ cidr: "127.0.0.1/32", ports: [d.admin.port] }]),
      /warning egress policy: .*holds this machine with admin\.port/,
    ],
    [
      "an authority that is missing",
      (d) => (d.push.caFiles = ["/nonexistent/ca.pem"]),
      /fault egress policy: push\.caFiles\.0: \/nonexistent\/ca\.pem cannot be read/,
    ],
    [
      "a sealing key that is too short",
      () => {},
      /fault push key: push\.secretKey .*is not 32 bytes/,
      { BATON_SECRET_KEY: "c2hvcnQ=" },
    ],
    [
      "no sealing key",
      () => {},
      /warning push key: .*is missing.*push notifications are off/,
      { BATON_SECRET_KEY: "" },
    ],
    [
      "no sealing key, and push demanded",
      (d) => (d.push.enabled = true),
      /fault push key: .*is missing/,
      { BATON_SECRET_KEY: "" },
    ],
    [
      "an issuer that the guard refuses",
      (d) => (d.identity.allow = []),
      /fault issuers: the keys of https:\/\/127\.0\.0\.1:\d+ cannot be had/,
    ],
    [
      "a card key that is missing",
      (d) => (d.cards.signing[0].file = "/nonexistent/card.pem"),
      /fault card keys: cards\.signing: card key first: \/nonexistent\/card\.pem cannot be read/,
    ],
    [
      "a weak admin credential",
      (d) => (d.admin.token = "password-password-password"),
      /fault admin credential: admin\.token .*can be guessed.*0\.0\.0\.0/,
    ],
    [
      "no admin credential, and everybody can ask",
      (d) => delete d.admin.token,
      /warning admin credential: admin\.token is not given.*0\.0\.0\.0/,
    ],
    [
      "an OpenWOP host that is not there",
      (d) => (d.agents.runs.backend.url = "http://127.0.0.1:1"),
      /fault openwop hosts: agents\.runs\.backend\.url: .*cannot be reached \(ECONNREFUSED\)/,
    ],
    [
      "what is no OpenWOP host",
      (d) => {
        d.agents.runs.backend.url = rig().issuer.issuer.replace("https", "http");
      },
      /fault openwop hosts: agents\.runs\.backend\.url/,
    ],
    [
      "no credential for the OpenWOP host",
      (d) => (d.agents.runs.backend.credential.env = "NOT_SET"),
      /fault openwop hosts: agents\.runs\.backend: NOT_SET is not set/,
    ],
  ];
};
