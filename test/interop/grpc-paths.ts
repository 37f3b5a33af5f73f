/** Which code serves gRPC: no client may see a difference. What else it speaks is the same code and is tried once. */
const listen = (leanGrpc: boolean) => ({ host: "127.0.0.1", port: 0, leanGrpc });

export const GRPC_PATHS = [
  {
    path: "its own gRPC path",
    listen: listen(true),
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC"],
  },
  { path: "gRPC by connect-es", listen: listen(false), bindings: ["GRPC"] },
] as const;
