/** Verifies that keys in saved configs are masked in responses, and kept only for the same destination. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';

const canary = 'sk-canary-of-a-config';
let inference: Inference;
beforeAll(async () => {
  inference = await startInference();
});
afterAll(() => inference[Symbol.asyncDispose]());

const send = (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) =>
  inference.server.request(method, path, body === undefined ? {} : { body });
const target = (more: object = {}) => ({
  targets: [{ provider: 'openai', custom_host: inference.upstream.url, api_key: canary, ...more }],
});

it('returns keys masked from get and versions', async () => {
  const { id } = (await send('POST', '/v2/configs', { name: 'keys', config: target() })).body;
  for (const path of [`/v2/configs/${id}`, `/v2/configs/${id}/versions`]) {
    const text = JSON.stringify((await send('GET', path)).body);
    expect(text).not.toContain(canary);
    expect(text).not.toContain('$sealed');
    expect(text).toContain('api_key');
  }
});

it('keeps a masked key while provider and host are unchanged, and asks for it otherwise', async () => {
  const { id } = (await send('POST', '/v2/configs', { name: 'keys', config: target() })).body;
  const masked = JSON.parse((await send('GET', `/v2/configs/${id}`)).body.config);
  expect(masked.targets[0].api_key).not.toBe(canary);
  const same = await send('PUT', `/v2/configs/${id}`, { config: { ...masked, retry: {} } });
  expect(same).toMatchObject({ status: 200 });
  const [first] = masked.targets;
  const moves = [
    { targets: [{ ...first, custom_host: 'https://other.example/v1' }] },
    { targets: [{ ...first, provider: 'anthropic' }] },
    { targets: [{ ...first, custom_host: undefined }], custom_host: 'https://other.example/v1' },
    { targets: [{ ...first, azure_resource_name: 'other' }] },
  ];
  for (const config of moves) {
    const moved = await send('PUT', `/v2/configs/${id}`, { config });
    expect(moved).toMatchObject({ status: 400 });
    expect(JSON.stringify(moved.body)).toContain('must be sent again');
  }
  const unknown = await send('POST', '/v2/configs', { name: 'masked', config: masked });
  expect(unknown).toMatchObject({ status: 400 });
});

it('stores keys sealed, with every version, and seals a stored plain text when it is next sent', async () => {
  const { db } = inference.server.database;
  const { id } = (await send('POST', '/v2/configs', { name: 'keys', config: target() })).body;
  const stored = async () =>
    JSON.stringify([
      await db.selectFrom('configs').select('config').where('id', '=', id).execute(),
      await db.selectFrom('config_versions').select('config').execute(),
    ]);
  expect(await stored()).not.toContain(canary);
  const plain = JSON.stringify(target());
  await db.updateTable('configs').set({ config: plain }).where('id', '=', id).execute();
  const { config } = (await send('GET', `/v2/configs/${id}`)).body;
  expect(config).not.toContain(canary);
  await send('PUT', `/v2/configs/${id}`, { config: JSON.parse(config) });
  expect(await stored()).not.toContain(canary);
});
