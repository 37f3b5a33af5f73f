/** `node examples/openwop-host/main.ts [port]`: a run host to try Baton with. Keys: see DEFAULT_KEYS in host.ts. */
import { DEFAULT_KEYS, startOpenWopHost } from "./host.ts";

const port = Number(process.argv[2] ?? process.env.PORT ?? 7430);
const host = await startOpenWopHost({ port });
console.log(`openwop host at ${host.url}`);
console.log(`keys: ${Object.keys(DEFAULT_KEYS).join(", ")}`);
console.log(`workflows: ${host.state.workflows.join(", ")}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    host.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
