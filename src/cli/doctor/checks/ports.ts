import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { localUrl } from "../../client-options.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, reason } from "../finding.ts";

export const ports: Check = {
  name: "ports",
  about: "Both ports can be listened on, or a Baton listens there already.",
  needs: ["listen", "admin", "roles"],
  async run({ config }, signal) {
    const { listen, admin, roles } = config;
    const runs = admin.port !== 0 && (await isBaton(localUrl(admin.host, admin.port, false), signal));
    const operators = await judge("admin", admin.host, admin.port, runs);
    if (!roles.includes("gateway")) return [ok("listen.port: not used by these roles"), operators];
    if (listen.port !== 0 && listen.port === admin.port && listen.host === admin.host) {
      return [fault(`listen.port and admin.port are both ${listen.port}`, "Give them different ports.")];
    }
    return [await judge("listen", listen.host, listen.port, runs), operators];
  },
};

async function judge(section: string, host: string, port: number, runs: boolean): Promise<Finding> {
  if (port === 0) return ok(`${section}.port: the system chooses one`);
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return ok(`${section}.port: ${port} is free`);
  } catch (error) {
    const code = reason(error);
    if (code === "EADDRINUSE") {
      if (runs) return ok(`${section}.port: ${port} is in use, and a Baton answers on the admin port`);
      return fault(
        `${section}.port: ${host} port ${port} is in use by another program`,
        `Stop it (\`ss -ltnp\` names it), or choose another port. 0 takes a free one.`,
      );
    }
    if (code === "EACCES") {
      return fault(
        `${section}.port: this user may not listen on ${port}`,
        "Choose a port from 1024 upwards.",
      );
    }
    return fault(
      `${section}.host: nobody can listen on ${host} here (${code})`,
      "Name an address of this machine; 0.0.0.0 or :: for all.",
    );
  }
}

/** Whether probes are answered as Baton answers them. */
async function isBaton(adminUrl: string, signal: AbortSignal): Promise<boolean> {
  try {
    const late = sleep(1000, undefined, { ref: false, signal });
    const asked = fetch(`${adminUrl}/livez`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(1000)]),
    });
    const answer = await Promise.race([asked, late]);
    return answer !== undefined && ((await answer.json()) as { status?: unknown }).status === "ok";
  } catch {
    return false;
  }
}
