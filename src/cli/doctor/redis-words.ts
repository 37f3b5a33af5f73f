import { type Finding, fault } from "./finding.ts";

/** Why a server cannot be asked, in words, and what to do. `tls`: it was asked over TLS. */
export function unreachable(name: string, error: unknown, tls: boolean): Finding {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/NOAUTH|WRONGPASS|AUTH .*password|NOPERM/i.test(message)) {
    return fault(
      `${name} does not accept the credentials: ${message.split(/[.,\n]/)[0]}`,
      "Correct user and password: in redis.url, or redis.username and redis.password (BATON_REDIS_PASSWORD). A user needs INFO, TIME, scripts, streams, channels and the keys baton:*.",
    );
  }
  if (/ENOTFOUND|EAI_AGAIN|EAI_FAIL/.test(code)) {
    return fault(`the name of ${name} cannot be resolved (${code})`, "Correct the name, or look at the DNS.");
  }
  if (code === "ECONNREFUSED") {
    return fault(`nothing listens at ${name}`, "Start that Redis, or correct the address.");
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)) {
    return fault(
      `the certificate of ${name} is not trusted (${code})`,
      "Name its authority with NODE_EXTRA_CA_CERTS, and reach the server by a name that its certificate holds.",
    );
  }
  if (/ERR_SSL|EPROTO/.test(code)) {
    return fault(
      `${name} does not speak TLS (${code})`,
      "Write redis:// in place of rediss://, or give the server TLS.",
    );
  }
  if (/LOADING/.test(message)) {
    return fault(`${name} is still reading its data`, "Wait, then look again.");
  }
  if (
    /Socket closed|ECONNRESET|socket ?timeout/i.test(
      `${message} ${code} ${error instanceof Error ? error.name : ""}`,
    )
  ) {
    return fault(
      `${name} takes the connection and then says nothing that Redis would say`,
      tls
        ? "Is it a Redis with TLS? If it has none, write redis:// in place of rediss://."
        : "Is it a Redis? If it speaks TLS, write rediss:// in place of redis://.",
    );
  }
  if (/ETIMEDOUT|timeout/i.test(`${code} ${message}`)) {
    return fault(
      `${name} does not answer in time`,
      tls
        ? "Is it a Redis with TLS? If it has none, write redis:// in place of rediss://. Else look at the network."
        : "Look at the network between here and there: packets that are dropped without a word look like this.",
    );
  }
  return fault(
    `${name} cannot be asked: ${code || message.split("\n")[0]}`,
    "Correct the address, or look at the network.",
  );
}
