/** Verifies that records say which manifest declares the resource, and what keys have used. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../support/server/server.ts';
import { leaseHeaders } from '../../../support/sync/lease.ts';

const source = {
  repo: 'https://git.example.com/gateway#main',
  revision: '1f3c',
  file: 'all.yaml',
  line: 7,
};
const declared = {
  owner: 'platform',
  workspace: null,
  name: 'declared',
  source: source.repo,
  path: 'all.yaml',
  line: 7,
  commit: '1f3c',
};

let server: TestServer;
let headers: Record<string, string>;
beforeAll(async () => {
  server = await startTestServer();
  headers = await leaseHeaders(server.request, 'platform');
});
afterAll(() => server[Symbol.asyncDispose]());

const mark = { owner: 'platform', workspace: null, name: 'declared', source, last_applied: {} };

interface MadeResource {
  readonly id: string;
}

async function make(path: string, body: object, managed = true): Promise<MadeResource> {
  const sent = managed ? { ...body, managed_by: mark } : body;
  const made = await server.request('POST', path, { body: sent, ...(managed ? { headers } : {}) });
  expect(made.status).toBe(200);
  return made.body;
}

async function read(path: string) {
  const { status, body } = await server.request('GET', path);
  expect(status).toBe(200);
  return body;
}

const checks = [{ id: 'default.wordCount', parameters: { minWords: 1, maxWords: 9 } }];
const config = { config: { targets: [{ provider: '@a' }] } };

describe('declared_in', () => {
  it.each([
    ['/v1/configs', { name: 'declared', ...config }, { name: 'other', ...config }],
    [
      '/v2/guardrails',
      { name: 'declared', checks, actions: {} },
      { name: 'other', checks, actions: {} },
    ],
    ['/admin/v2/workspaces', { name: 'declared' }, { name: 'other' }],
  ])(
    'names the manifest of %s in the record and in the list, and is null without one',
    async (path, ours, theirs) => {
      const mine = await make(path, ours);
      const other = await make(path, theirs, false);
      expect((await read(`${path}/${mine.id}`)).declared_in).toEqual(declared);
      expect((await read(`${path}/${other.id}`)).declared_in).toBeNull();
      const { data } = await read(path);
      const byId = new Map(
        data.map((one: MadeResource & { declared_in: unknown }) => [one.id, one.declared_in]),
      );
      expect(byId.get(mine.id)).toEqual(declared);
      expect(byId.get(other.id)).toBeNull();
    },
  );

  it('is part of the described records, and of no version or member of one', async () => {
    const { paths, components } = await read('/openapi.json');
    const bodyOf = (path: string) => {
      const { $ref } = paths[path].get.responses['200'].content['application/json'].schema;
      return components.schemas[$ref.split('/').at(-1)];
    };
    expect(bodyOf('/v1/configs/{configId}').properties).toHaveProperty('declared_in');
    const versions = bodyOf('/v1/configs/{configId}/versions');
    expect(JSON.stringify(versions)).not.toContain('declared_in');
  });

  it('names the manifest of one key among others in their list', async () => {
    const key = (name: string) => ({ name, scopes: ['completions.write'] });
    const made = await make('/v1/api-keys/organisation/service', key('declared'));
    await make('/v1/api-keys/organisation/service', key('other'), false);
    const { data } = await read('/v1/api-keys');
    const found = data.filter((one: { declared_in: unknown }) => one.declared_in !== null);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ id: made.id, declared_in: declared });
  });
});

describe('the record of a key', () => {
  it('says what is used of its budget and when it was used last', async () => {
    const usage_limits = { credit_limit: 5, type: 'cost', periodic_reset: 'monthly' };
    const made = await make(
      '/v1/api-keys/organisation/service',
      { name: 'limited', scopes: ['completions.write'], usage_limits },
      false,
    );
    const record = await read(`/v1/api-keys/${made.id}`);
    expect(record).toMatchObject({ current_usage: 0, last_used_at: null });
    expect(record.next_usage_reset_at).toMatch(/^2027-02-01T/);
  });

  it('has no usage without a budget', async () => {
    const body = { name: 'free', scopes: ['completions.write'] };
    const made = await make('/v1/api-keys/organisation/service', body, false);
    expect(await read(`/v1/api-keys/${made.id}`)).toMatchObject({ current_usage: null });
  });
});
