/** Verifies the metrics: on their own port, by route pattern, by model, and without secrets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { startUpstream } from '../../support/upstream/upstream.ts';

describe('metrics', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const scrape = async (): Promise<string> =>
    (await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {})).body;

  it('is served in the Prometheus text format on its own port', async () => {
    const answer = await exchange('GET', `${server.metricsUrl}/metrics`, undefined, {});
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    expect((await exchange('GET', `${server.url}/metrics`, undefined, {})).status).toBe(404);
  });

  it('counts requests by method, route pattern and status', async () => {
    await server.request('GET', '/iam/v1/access_policies');
    await server.request('DELETE', '/iam/v1/access_policies/some-id');
    await exchange('GET', `${server.url}/no/such/path`, undefined, {});
    const count = (method: string, route: string, status: number) =>
      new RegExp(
        `gatewright_http_request_duration_seconds_count\\{method="${method}",route="${route}",status="${status}"\\} [1-9]`,
      );
    await expect.poll(scrape).toMatch(count('GET', '/iam/v1/access_policies', 200));
    await expect.poll(scrape).toMatch(count('DELETE', '/iam/v1/access_policies/:policyId', 404));
    await expect.poll(scrape).toMatch(count('GET', 'unmatched', 404));
    expect(await scrape()).not.toMatch(/some-id|no\/such/);
  });

  it('counts job runs by job and outcome', async () => {
    await server.app.jobs.runNow('expire-keys');
    expect(await scrape()).toMatch(
      /gatewright_job_duration_seconds_count\{job="expire-keys",state="done"\} 1/,
    );
  });

  it('includes the build, the state of the process and the use of the database pool', async () => {
    const text = await scrape();
    expect(text).toMatch(/gatewright_build_info\{version="\d+\.\d+\.\d+[^"]*",node="v\d+/);
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toMatch(/gatewright_database_connections\{state="open"\} [1-9]/);
    expect(text).toMatch(/gatewright_database_connections\{state="used"\} \d/);
    expect(text).toMatch(/gatewright_database_connections\{state="waiting"\} 0/);
    expect(text).toContain('gatewright_database_degraded 0');
    expect(text).toContain('gatewright_database_reachable 1');
    expect(text).toContain(
      'gatewright_database_tls_info{mode="DISABLED",version="none",cipher="none"} 1',
    );
  });

  it('measures model requests by provider and model under the names of OpenTelemetry', async () => {
    await using upstream = await startUpstream();
    const trusted = readTrustedHosts(upstream.host);
    await using gateway = await startTestServer({
      settings: { trustedHosts: 'hosts' in trusted ? trusted.hosts : [] },
    });
    const { body } = await gateway.request('POST', '/v1/api-keys/organisation/service', {
      body: { name: 'caller', scopes: ['completions.write'] },
    });
    const config = { provider: 'openai', api_key: 'sk-provider', custom_host: upstream.url };
    const headers = {
      'x-gateway-api-key': body.key,
      'x-gateway-config': JSON.stringify(config),
      'content-type': 'application/json',
    };
    const chat = JSON.stringify({ model: 'gpt-test', messages: [{ role: 'user', content: 'hi' }] });
    const url = `${gateway.inferenceUrl}/v1/chat/completions`;
    expect((await exchange('POST', url, chat, headers)).status).toBe(200);
    const labels =
      'gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-test"';
    const text = async (): Promise<string> =>
      (await exchange('GET', `${gateway.metricsUrl}/metrics`, undefined, {})).body;
    await expect
      .poll(text)
      .toContain(`gen_ai_server_request_duration_seconds_count{${labels},error_type=""} 1`);
    expect(await text()).toContain(
      `gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="input"} 5`,
    );
    expect(await text()).toContain(
      `gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="output"} 2`,
    );
    expect(await text()).not.toContain('sk-provider');
  });
});
