/** Verifies that OAuth client credentials and their tokens appear in no log line, span, metric or table. */
import { expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import { readTrustedHosts } from '../../../../src/trusted-hosts.ts';
import { dumpDatabase } from '../../../support/database/dump.ts';
import { exchange } from '../../../support/network/exchange.ts';
import { eventually } from '../../../support/server/eventually.ts';
import { startInference } from '../../../support/server/inference.ts';
import { logIsWritten } from '../../../support/server/request-log.ts';
import { testSettings } from '../../../support/server/server.ts';
import { chatAnswer, sendJson, startUpstream } from '../../../support/upstream/upstream.ts';

/** Has the same form in the header of the login. */
const secret = 'canaryclientsecret';
const tokens = ['canary-token-1', 'canary-token-2'];
/** As it is sent to the token endpoint. */
const basic = Buffer.from(`gateway:${secret}`).toString('base64');

it('writes none of them anywhere, whether the login succeeds, is renewed or is refused', async () => {
  await using issuer = await startUpstream();
  await using collector = await startUpstream();
  const trusted = readTrustedHosts('127.0.0.1');
  const traces = {
    url: new URL(`${collector.url}/traces`),
    headers: new Secret({}, 'test'),
    serviceName: 'test',
    sampler: { heedsParent: true, ratio: 1 },
  };
  await using inference = await startInference({
    trustedHosts: 'hosts' in trusted ? trusted.hosts : [],
    inference: { ...testSettings().inference, traces },
  });
  const { server, upstream } = inference;
  const post = async (path: string, body: object) => {
    const made = await server.request('POST', path, { body });
    expect(made).toMatchObject({ status: 200 });
    return made.body;
  };
  collector.script = (_, response) => sendJson(response, {});
  let granted = 0;
  issuer.script = (_, response) => {
    const access_token = tokens[granted];
    granted += 1;
    const error = { error: 'invalid_client', error_description: `${secret} is wrong` };
    if (access_token === undefined) sendJson(response, error, 401);
    else sendJson(response, { access_token, token_type: 'Bearer', expires_in: 3600 });
  };
  // The second token is accepted once.
  upstream.script = (_, response) => {
    if (upstream.reached.length === 2) sendJson(response, chatAnswer);
    else sendJson(response, { error: { message: 'expired' } }, 401);
  };
  const workspace = await post('/v2/workspaces', { name: 'Support' });
  const { key } = await inference.addKey({ workspace_id: workspace.id });
  const integration = await post('/v1/integrations', {
    name: 'login',
    ai_provider_id: 'openai',
    configurations: {
      custom_host: upstream.url,
      provider_auth_type: 'oauthClientCredentials',
      oauth_token_endpoint: issuer.url.replace(/\/v1$/, '/oauth/token'),
      oauth_client_id: 'gateway',
      oauth_client_secret: secret,
    },
  });
  const { slug } = await post('/v1/providers', {
    name: 'p',
    integration_id: integration.id,
    workspace_id: workspace.id,
  });
  const ask = () =>
    inference.chat(key, { config: null, headers: { 'x-gateway-provider': `@${slug}` } });
  const answers = [await ask(), await ask()];
  expect(answers.map(({ status }) => status)).toEqual([200, 502]);
  expect(answers[1]!.body.error.code).toBe('token_unavailable');
  expect(issuer.reached[0]!.headers.authorization).toBe(`Basic ${basic}`);
  expect(upstream.reached.map(({ headers }) => headers.authorization)).toEqual(
    [tokens[0], tokens[1], tokens[1]].map((token) => `Bearer ${token}`),
  );
  await eventually(() =>
    expect(
      spansOf()
        .join()
        .match(/"kind":2/g),
    ).toHaveLength(2),
  );
  await logIsWritten(server);
  const metrics = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
  const integrations = await server.request('GET', `/v1/integrations/${integration.id}`);
  const texts = [answers, server.logLines, spansOf(), metrics.body, integrations.body];
  const all = texts.map((text) => JSON.stringify(text)).join('\n');
  const dump = await dumpDatabase(server.database.db);
  for (const canary of [secret, basic, ...tokens]) {
    expect([canary, all.includes(canary), dump.includes(canary)]).toEqual([canary, false, false]);
  }

  function spansOf(): string[] {
    return collector.reached.map(({ body }) => `${body}`);
  }
});
