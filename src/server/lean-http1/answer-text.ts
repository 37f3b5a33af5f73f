import { STATUS_CODES, validateHeaderValue } from "node:http";

/**
 * The head of an HTTP/1.1 answer as Node writes it: `fields`, names and values in turn, then Date, then `connection`, one
 * or more lines of what becomes of the connection. Throws for a value that no header can have.
 */
export function answerHead(status: number, fields: readonly string[], connection: string): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? "";
    const value = fields[index + 1] ?? "";
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}Date: ${httpDate()}\r\n${connection}\r\n\r\n`;
}

let second = 0;
let date = "";

/** Printed once a second. */
function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}
