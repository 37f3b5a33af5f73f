/** What no input may ever bring about: a failure of ours, or a word about our inside. */
import { GRPC_CODE } from "../../src/domain/errors.ts";
import type { Injected } from "./inject.ts";

const LEAK =
  /node_modules|node:internal|\/src\/|\.ts:\d|\.js:\d|\bat \S+ \(|TypeError|RangeError|SyntaxError|ReferenceError|Cannot read|is not a function|is not iterable|protobuf-es|cannot (?:de|en)code|\[object /;

export class Breach extends Error {
  override readonly name = "Breach";
}

/** Throws where the text of an answer tells what it should not. Echoed input is taken out of the text before. */
export function checkText(text: string): void {
  const found = LEAK.exec(text);
  if (found !== null) throw new Breach(`the answer says "${found[0]}": ${text.slice(0, 2000)}`);
}

/** Connect writes "unimplemented" (a compression that we lack) as 501, and a deadline that has passed as 504. */
const ASKED_FOR: ReadonlySet<number> = new Set([501, 504]);

export function checkHttp({ status, body }: Injected): string {
  const text = body.toString("utf8");
  if ((status >= 500 && !ASKED_FOR.has(status)) || status < 200)
    throw new Breach(`status ${status}: ${text.slice(0, 2000)}`);
  if (status >= 400) checkText(text);
  return text;
}

/** A JSON-RPC answer is an answer: an envelope with result or error, whose code is not that of a fault of ours. */
export function checkJsonRpc(answer: Injected): void {
  const text = checkHttp(answer);
  if (String(answer.headers["content-type"]).startsWith("text/event-stream")) {
    if (/"code":-32603/.test(text)) throw new Breach(text.slice(0, 2000));
    return;
  }
  const json = JSON.parse(text) as {
    jsonrpc?: unknown;
    id?: unknown;
    error?: { code: unknown; message: unknown };
  };
  if (json.jsonrpc !== "2.0" || !("id" in json) || "result" in json === "error" in json) {
    throw new Breach(`no JSON-RPC answer: ${text.slice(0, 2000)}`);
  }
  if (json.error === undefined) return;
  checkText(String(json.error.message));
  if (json.error.code === -32603) throw new Breach(text.slice(0, 2000));
}

/** REST errors carry their own status; streams no event of a fault of ours. */
export function checkRest(answer: Injected): void {
  const text = checkHttp(answer);
  if (/^event: error$/m.test(text)) throw new Breach(text.slice(0, 2000));
  if (answer.status >= 400 && text !== "") JSON.parse(text);
}

const OURS: ReadonlySet<number> = new Set([GRPC_CODE.UNKNOWN, GRPC_CODE.INTERNAL]);

/** `message` is percent-encoded, as in the trailers. */
export function checkGrpc(status: number, message: string): void {
  const text = decodeURIComponent(message);
  checkText(text);
  if (OURS.has(status)) throw new Breach(`gRPC status ${status}: ${text}`);
}

/** Connect and gRPC-Web: the status stands in the body or in the headers. */
export function checkConnect(answer: Injected): void {
  const text = checkHttp(answer);
  const inHead = answer.headers["grpc-status"];
  const inFrame = /grpc-status: (\d+)/.exec(text)?.[1];
  const status = inHead ?? inFrame;
  if (status !== undefined) {
    const message = String(
      answer.headers["grpc-message"] ?? /grpc-message: ([^\r\n]*)/.exec(text)?.[1] ?? "",
    );
    checkGrpc(Number(status), message);
  }
  if (/"code":"(?:internal|unknown)"/.test(text)) throw new Breach(text.slice(0, 2000));
}
