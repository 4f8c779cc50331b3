// Creates an API key, uses it, deletes it and checks that it is rejected afterwards, at the API and at the gateways.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const requestMsMax = 10_000;
/** Every gateway process learns of a change within a second, unless the machine is overloaded. */
const triesMax = 20;
const pauseMs = 500;
const { INFERENCE_URL: inferenceUrl, MCP_URL: mcpUrl } = process.env;

try {
  await testRelease(JSON.parse(readFileSync('/run/gatewright/credentials.json', 'utf8')));
  console.log('passed: the key was created, accepted, deleted and then rejected');
} catch (error) {
  // The container's last lines are its status message, which `helm test` and `kubectl describe pod` show.
  console.log(`failed: ${describe(error)}`);
  process.exitCode = 1;
}

async function testRelease({ adminBaseUrl, baseUrl, clientId, clientSecret, tsgId }) {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const token = await expectStatus(200, 'POST', `${adminBaseUrl}/oauth2/access_token`, {
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: `tsg_id:${tsgId}` }),
  });
  const bearer = { authorization: `Bearer ${token.access_token}` };
  const scopes = ['workspaces.list', 'completions.write', 'mcp.invoke'];
  const created = await expectStatus(
    200,
    'POST',
    `${adminBaseUrl}/v2/api-keys/organisation/service`,
    {
      headers: { ...bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'helm test', scopes }),
    },
  );
  const headers = { 'x-gateway-api-key': created.key };
  await expectStatus(200, 'GET', `${baseUrl}/workspaces`, { headers });
  if (inferenceUrl !== undefined) await retry(() => expectInference(400, created.key));
  if (mcpUrl !== undefined) await retry(() => expectMcp(404, created.key));
  await expectStatus(200, 'DELETE', `${adminBaseUrl}/v2/api-keys/${created.id}`, {
    headers: bearer,
  });
  await expectStatus(401, 'GET', `${baseUrl}/workspaces`, { headers });
  if (inferenceUrl !== undefined) await retry(() => expectInference(401, created.key));
  if (mcpUrl !== undefined) await retry(() => expectMcp(401, created.key));
}

/** The request names no provider, which the gateway reports only to accepted keys. */
function expectInference(status, key) {
  return expectStatus(status, 'POST', `${inferenceUrl}/chat/completions`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'none', messages: [] }),
  });
}

/** The request names no server, which the gateway reports only to accepted keys. */
function expectMcp(status, key) {
  return expectStatus(status, 'POST', `${mcpUrl}/none/mcp`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  });
}

async function expectStatus(expected, method, url, options) {
  const name = `${method} ${url.replace(/[0-9a-f-]{36}/, '{id}')}`;
  const signal = AbortSignal.timeout(requestMsMax);
  const response = await fetch(url, { method, signal, ...options }).catch((error) => {
    throw new Error(`${name}: ${describe(error)}`);
  });
  const text = await response.text();
  if (response.status !== expected) {
    // A success may contain a secret.
    const detail = response.ok ? '' : `: ${text.slice(0, 500)}`;
    throw new Error(`${name} returned ${response.status} instead of ${expected}${detail}`);
  }
  console.log(`${name}: ${response.status}`);
  return text === '' ? null : JSON.parse(text);
}

async function retry(attempt) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === triesMax) throw error;
      await delay(pauseMs);
    }
  }
}

/** The innermost cause says why a connection failed. */
function describe(error) {
  return error.cause === undefined ? error.message : describe(error.cause);
}
