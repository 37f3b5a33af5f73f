import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { TlsMaterial } from "./listener.ts";

/** What the files of `listen.tls` hold. */
export interface TlsFiles {
  /** Absent where there are problems. */
  readonly material?: TlsMaterial;
  /** The server's own certificate, the first of the chain; absent where none can be read. */
  readonly certificate?: X509Certificate;
  /** One line each, beginning with the setting and naming the file. */
  readonly problems: readonly string[];
}

/** Reads certificate and key and compares them, so that what is wrong is known before anything is started. */
export function readTlsFiles(tls: { readonly certFile: string; readonly keyFile: string }): TlsFiles {
  const { certFile, keyFile } = tls;
  const problems: string[] = [];
  const certSetting = `listen.tls.certFile: ${certFile}`;
  const keySetting = `listen.tls.keyFile: ${keyFile}`;
  const cert = readOr(certFile, certSetting, problems);
  const key = readOr(keyFile, keySetting, problems);
  let certificate: X509Certificate | undefined;
  let privateKey: KeyObject | undefined;
  try {
    if (cert !== undefined) certificate = new X509Certificate(cert);
  } catch {
    problems.push(`${certSetting} holds no certificate in PEM form`);
  }
  try {
    if (key !== undefined) privateKey = createPrivateKey(key);
  } catch (error) {
    const locked = error instanceof Error && "code" in error && error.code === "ERR_MISSING_PASSPHRASE";
    problems.push(
      `${keySetting} ${locked ? "is locked with a passphrase, which nobody could type" : "holds no private key in PEM form"}`,
    );
  }
  const shown = certificate === undefined ? {} : { certificate };
  if (cert === undefined || key === undefined || certificate === undefined || privateKey === undefined) {
    return { ...shown, problems };
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    problems.push(`${keySetting} is not the key of the first certificate in ${certFile}`);
    return { ...shown, problems };
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    problems.push(`listen.tls: ${certFile} and ${keyFile} cannot be used: ${why}`);
    return { ...shown, problems };
  }
  return { certificate, material: { cert, key }, problems };
}

function readOr(path: string, setting: string, problems: string[]): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    problems.push(`${setting} cannot be read${code}`);
    return undefined;
  }
}
