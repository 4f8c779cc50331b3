// Makes an API key, lets it in, deletes it, and sees that it is let in no more; at the gateway too, where there is one.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const credentials = JSON.parse(readFileSync('/run/gatewright/credentials.json', 'utf8'));
const { adminBaseUrl, baseUrl, clientId, clientSecret, tsgId } = credentials;
const { INFERENCE_URL: inferenceUrl } = process.env;

async function ask(method, url, headers, body, expected) {
  const answer = await fetch(url, {
    method,
    headers: {
      ...headers,
      ...(typeof body === 'object' && !(body instanceof URLSearchParams)
        ? { 'content-type': 'application/json' }
        : {}),
    },
    body: body instanceof URLSearchParams || body === undefined ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  if (answer.status !== expected) {
    throw new Error(
      `${method} ${new URL(url).pathname} answered ${answer.status} instead of ${expected}: ${answer.status < 300 ? '' : text}`,
    );
  }
  console.log(
    `${method} ${new URL(url).pathname.replace(/[0-9a-f-]{36}/, '{id}')}: ${answer.status}`,
  );
  return text === '' ? null : JSON.parse(text);
}

const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
const form = new URLSearchParams({ grant_type: 'client_credentials', scope: `tsg_id:${tsgId}` });
const token = await ask(
  'POST',
  `${adminBaseUrl}/oauth2/access_token`,
  { authorization: `Basic ${basic}` },
  form,
  200,
);
const bearer = { authorization: `Bearer ${token.access_token}` };
const made = await ask(
  'POST',
  `${adminBaseUrl}/v2/api-keys/organisation/service`,
  bearer,
  { name: 'helm test', scopes: ['workspaces.list', 'completions.write'] },
  200,
);
await ask('GET', `${baseUrl}/workspaces`, { 'x-gateway-api-key': made.key }, undefined, 200);

/** Every process of the gateway knows of a change within a second, on a machine that has the time. */
async function again(attempt) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === 20) throw error;
      await delay(500);
    }
  }
}

/** Names no provider, which the gateway says to those whom it lets in. */
const infer = (expected) =>
  ask(
    'POST',
    `${inferenceUrl}/chat/completions`,
    { authorization: `Bearer ${made.key}` },
    { model: 'none', messages: [] },
    expected,
  );
if (inferenceUrl !== undefined) await infer(400);
await ask('DELETE', `${adminBaseUrl}/v2/api-keys/${made.id}`, bearer, undefined, 200);
await ask('GET', `${baseUrl}/workspaces`, { 'x-gateway-api-key': made.key }, undefined, 401);
if (inferenceUrl !== undefined) await again(() => infer(401));
console.log('the key was made, let in, deleted, and is let in no more');
