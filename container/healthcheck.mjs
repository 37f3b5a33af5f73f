// Ends with 0 while the gateway of this container answers, for HEALTHCHECK. Not whether it is ready: a restart would
// not bring a Redis back.
const port = process.env.BATON_ADMIN_PORT || "7421";
try {
  const response = await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(2500) });
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
