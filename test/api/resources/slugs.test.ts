/** Verifies generated slugs that collide, and slugs that callers choose and change. */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

const suffixBytes = 3;
let alike = 0;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Makes this many of the next slugs equal. */
function loseChance(times: number): void {
  alike = times;
  const real = crypto.randomBytes;
  const chance = (size: number): Buffer => {
    if (size !== suffixBytes || alike === 0) return real(size);
    alike -= 1;
    return Buffer.alloc(size);
  };
  vi.spyOn(crypto, 'randomBytes').mockImplementation(chance as typeof real);
  syncBuiltinESMExports();
}

function restoreChance(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}
afterEach(restoreChance);

async function make(kind: string, more: object): Promise<{ id: string; slug: string }> {
  const body = { name: 'Team one', ...more };
  const made = await server.request('POST', `/admin/v2/${kind}`, { body });
  expect(made.body).toMatchObject({ id: expect.any(String) });
  return made.body;
}

describe('a generated slug that is taken', () => {
  it('is generated again until it is free, and identifies the resource', async () => {
    const workspace = { workspace_id: (await make('workspaces', {})).id };
    const url = { url: 'https://mcp.example.com', auth_type: 'none', transport: 'http' };
    const integration = await make('mcp-integrations', url);
    const check = { id: 'default.contains', parameters: { words: ['a'], operator: 'none' } };
    const kinds = [
      ['workspaces', {}],
      ['guardrails', { ...workspace, checks: [check], actions: {} }],
      ['configs', { ...workspace, config: { retry: { attempts: 1 } } }],
      ['mcp-integrations', url],
      ['mcp-servers', { ...workspace, mcp_integration_id: integration.id }],
    ] as const;
    for (const [kind, more] of kinds) {
      loseChance(4);
      const first = await make(kind, more);
      const second = await make(kind, more);
      expect(alike).toBe(0);
      restoreChance();
      expect(first.slug).toMatch(/-000000$/);
      expect(second.slug).not.toBe(first.slug);
      for (const { id, slug } of [first, second]) {
        expect((await server.request('GET', `/admin/v2/${kind}/${slug}`)).body.id).toBe(id);
      }
    }
  });

  it('does not roll back earlier changes of an atomic change set', async () => {
    loseChance(2);
    const change = (name: string) => ({ kind: 'Workspace', action: 'create', body: { name } });
    const changes = ['Alike a', 'Alike b', 'Alike c'].map(change);
    const set = await server.request('POST', '/admin/v2/gatewright/changes', {
      body: { changes, mode: 'atomic' },
    });
    expect(set.body.data.map(({ status }: { status: number }) => status)).toEqual([200, 200, 200]);
  });
});

describe.each(['configs', 'integrations', 'providers'])('the slug of %s', (kind) => {
  const path = `/v1/${kind}`;
  let fields: object;
  beforeAll(async () => {
    if (kind === 'configs') fields = { config: { retry: { attempts: 1 } } };
    else if (kind === 'integrations') fields = { ai_provider_id: 'openai' };
    else {
      const { id } = await make('integrations', { ai_provider_id: 'openai' });
      fields = { integration_id: id, workspace_id: (await make('workspaces', {})).id };
    }
  });
  const create = (slug: string) =>
    server.request('POST', path, { body: { name: 'Routing', slug, ...fields } });
  const put = (at: string, body: object) => server.request('PUT', `${path}/${at}`, { body });
  const get = (at: string) => server.request('GET', `${path}/${at}`);

  it('is the one that the caller chooses, and 409 when it is taken', async () => {
    expect((await create('chosen')).body).toMatchObject({ slug: 'chosen' });
    const again = await create('chosen');
    expect([again.status, again.body.error.param]).toEqual([409, 'slug']);
  });

  it('changes without another id', async () => {
    const { id } = (await create('mistaken')).body;
    const changed = await put(id, { slug: 'correct' });
    expect(changed.status).toBe(200);
    expect((await get('correct')).body).toMatchObject({ id, slug: 'correct', name: 'Routing' });
    expect((await get('mistaken')).status).toBe(404);
  });

  it('stays when a body repeats the reference of the path', async () => {
    const { id } = (await create('repeated')).body;
    for (const reference of [id, 'repeated']) {
      const answer = await put(reference, { slug: reference, name: 'Renamed' });
      expect(answer.status).toBe(200);
    }
    expect((await get(id)).body).toMatchObject({ slug: 'repeated', name: 'Renamed' });
  });

  it('is refused when it is taken, or no slug', async () => {
    const { id } = (await create('first')).body;
    await create('second');
    const taken = await put(id, { slug: 'second', name: 'Renamed' });
    expect([taken.status, taken.body.error.param]).toEqual([409, 'slug']);
    for (const slug of ['with space', crypto.randomUUID()]) {
      const refused = await put(id, { slug });
      expect([refused.status, refused.body.error.param]).toEqual([400, 'slug']);
    }
    expect((await get(id)).body).toMatchObject({ slug: 'first', name: 'Routing' });
  });
});
