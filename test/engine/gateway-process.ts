/** A gateway in a process of its own, run by the tests that need more than one. Prints its addresses as a line of JSON. */
import { parseConfig } from "../../src/config/load.ts";
import { startGateway } from "../../src/server/gateway.ts";

const gateway = await startGateway(parseConfig(JSON.parse(process.argv[2] ?? "{}")));
const { url, adminUrl, adminToken } = gateway;
process.stdout.write(`${JSON.stringify({ url, adminUrl, adminToken })}\n`);
process.on("SIGTERM", () => void gateway.stop(1000).then(() => process.exit(0)));
