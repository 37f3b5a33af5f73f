import type { X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { isIP } from "node:net";
import { readTlsFiles } from "../../../server/tls-files.ts";
import type { Check } from "../check.ts";
import { type Finding, fault, ok, warning } from "../finding.ts";

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

export const tls: Check = {
  name: "tls",
  about:
    "Certificate and key can be read, belong together, are valid now and in 14 days, and name the host of publicUrl.",
  needs: ["listen", "publicUrl", "roles"],
  run({ config }) {
    const { tls: files } = config.listen;
    if (!config.roles.includes("gateway")) return [ok("not used by these roles")];
    if (files === undefined) return [ok("not used: the port speaks cleartext")];
    const { problems, certificate } = readTlsFiles(files);
    const findings: Finding[] = problems.map((problem) =>
      fault(problem, "Correct the setting or the file; `baton serve` does not start with it."),
    );
    const setting = `listen.tls.certFile: ${files.certFile}`;
    if (certificate !== undefined) {
      findings.push(...validity(setting, certificate), ...name(setting, certificate, config.publicUrl));
    }
    const mode = statSync(files.keyFile, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o007) !== 0) {
      findings.push(
        warning(`listen.tls.keyFile: ${files.keyFile} can be read by everybody`, `chmod o= ${files.keyFile}`),
      );
    }
    if (findings.length > 0) return findings;
    return [ok(`${files.certFile} is good until ${certificate?.validToDate.toISOString().slice(0, 10)}`)];
  },
};

function validity(setting: string, certificate: X509Certificate): Finding[] {
  const { validFromDate: from, validToDate: to } = certificate;
  const now = Date.now();
  const renew = "Renew it, and restart Baton: the files are read at the start.";
  if (now < from.getTime()) {
    return [
      fault(
        `${setting} is not valid before ${from.toISOString()}`,
        "Wait, correct the clock, or have it made anew.",
      ),
    ];
  }
  if (now >= to.getTime()) return [fault(`${setting} expired at ${to.toISOString()}`, renew)];
  const days = Math.floor((to.getTime() - now) / DAY_MS);
  return days < SOON_DAYS
    ? [warning(`${setting} expires in ${days} days, at ${to.toISOString()}`, renew)]
    : [];
}

function name(setting: string, certificate: X509Certificate, publicUrl: string | undefined): Finding[] {
  if (publicUrl === undefined || !URL.canParse(publicUrl) || !publicUrl.startsWith("https:")) return [];
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, "");
  const fits = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
  if (fits !== undefined) return [];
  const names = certificate.subjectAltName ?? "no names";
  return [
    fault(
      `${setting} is not for ${host}, the host of publicUrl; it is for ${names}`,
      "Have the name put into the certificate (subjectAltName), or correct publicUrl. Where a proxy ends TLS with a certificate of its own, this is as it should be.",
    ),
  ];
}
