/**
 * Percent-encodes what the gRPC protocol says must be, and nothing more: `@grpc/grpc-js` leaves the escapes of reserved
 * characters, such as `%3A`, as they are. Lone surrogates, which a message may echo from a request, have no UTF-8.
 */
export function encodeMessage(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}
