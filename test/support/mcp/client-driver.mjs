/** Runs as the client of the conformance suite: asks the test, whose address is the first argument, to use the server of the scenario. */
const [, , driver, url] = process.argv;
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const body = JSON.stringify({ scenario, url, context: JSON.parse(context) });
const response = await fetch(driver, { method: 'POST', body });
process.stdout.write(await response.text());
process.exitCode = response.ok ? 0 : 1;
