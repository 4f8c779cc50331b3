/** Verifies what a proposed change answers before anybody sends it: text, patch, plan, faults and refusals. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addTenant, bindToWorkspace } from '../../support/server/tenant.ts';
import {
  type ProposalSetup,
  routingFile,
  sourceFolder,
  startProposals,
} from '../../support/sync/proposals.ts';

let setup: ProposalSetup;
let commit: string;
let id: string;
beforeAll(async () => {
  setup = await startProposals(null);
  commit = await setup.sync({ 'configs.yaml': routingFile });
  id = await setup.configId('routing');
});
afterAll(() => setup[Symbol.asyncDispose]());

const read = (query = `kind=Config&id=${id}`) =>
  setup.server.request('GET', `/admin/v2/gatewright/proposals/manifest?${query}`);

const preview = (change: object, more: object = {}) =>
  setup.post('/preview', { kind: 'Config', id, base: commit, ...change, ...more });

async function manifestText(): Promise<string> {
  return (await read()).body.manifest;
}

describe('the manifest of a resource', () => {
  it('is the document that declares it, with its place and commit', async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'Config',
      id,
      owner: 'platform',
      path: 'configs.yaml',
      line: 2,
      commit,
      delivery: 'patch',
      git_host: null,
    });
    expect(body.manifest).toContain('# Two tries, then the error.');
    expect(body.manifest).not.toContain('name: other');
  });

  it('is 404 for an unmanaged resource, and for one of another organisation', async () => {
    const body = { name: 'free', config: { targets: [{ provider: '@a' }] } };
    const free = await setup.server.request('POST', '/v1/configs', { body });
    expect((await read(`kind=Config&id=${free.body.id}`)).status).toBe(404);
    const other = await addTenant(setup.server);
    const path = `/admin/v2/gatewright/proposals/manifest?kind=Config&id=${id}`;
    expect((await other.send('GET', path)).status).toBe(404);
  });
});

describe('a preview', () => {
  it('keeps comments and formatting when a spec is sent', async () => {
    const spec = { name: 'Routing', config: { retry: { attempts: 4 }, cache: { mode: 'simple' } } };
    const { status, body } = await preview({ spec });
    expect(status).toBe(200);
    expect(body.file).toBe(routingFile.replace('attempts: 2', 'attempts: 4'));
    expect(body.faults).toEqual([]);
  });

  it('keeps comments when fields come and go', async () => {
    const spec = { name: 'Routing', config: { retry: { attempts: 2, onStatusCodes: [500] } } };
    const { body } = await preview({ spec });
    expect(body.file).toContain('# Two tries, then the error.');
    expect(body.file).toContain('# Who asks which model.');
    expect(body.file).not.toContain('simple');
    expect(body.file.slice(body.file.indexOf('---'))).toBe(
      routingFile.slice(routingFile.indexOf('---')),
    );
  });

  it('says what sync would do, and nothing about what does not change', async () => {
    const manifest = (await manifestText()).replace('attempts: 2', 'attempts: 3');
    const { body } = await preview({ manifest });
    expect(body.plan.changes).toMatchObject([
      {
        id: 'Config/routing',
        action: 'update',
        fields: [{ path: '/config/retry/attempts', from: 2, to: 3, secret: false }],
      },
    ]);
    expect(body.plan.blocked).toEqual([]);
  });

  it('gives a patch that git applies to the repository', async () => {
    const manifest = (await manifestText()).replace('attempts: 2', 'attempts: 3 # more');
    const { body } = await preview({ manifest });
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-patch-'));
    try {
      mkdirSync(join(folder, sourceFolder));
      const file = join(folder, sourceFolder, 'configs.yaml');
      writeFileSync(file, routingFile);
      const cwd = folder;
      execFileSync('git', ['init', '--quiet', folder]);
      execFileSync('git', ['apply', '--check', '-'], { cwd, input: body.patch });
      execFileSync('git', ['apply', '-'], { cwd, input: body.patch });
      expect(readFileSync(file, 'utf8')).toBe(body.file);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names new faults with their place, and plans nothing then', async () => {
    const manifest = (await manifestText()).replace('attempts: 2', 'attempts: many');
    const { status, body } = await preview({ manifest });
    expect(status).toBe(200);
    expect(body.plan).toBeNull();
    expect(body.faults[0]).toMatchObject({ path: 'configs.yaml', line: 9, is_new: true });
  });

  it.each([
    ['an alias bomb', `a: &a [x,x]\n${'b: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n'.repeat(40)}`],
    ['no YAML', '{{{{ : : ['],
    ['another program', 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n'],
    ['members of prototypes', '__proto__: {polluted: true}\nconstructor: {prototype: 1}\n'],
    ['markup', '<img src=x onerror=alert(1)>\n'],
  ])('answers %s with faults or a plan, and stays up', async (_, manifest) => {
    const { status, body } = await preview({ manifest });
    expect(status).toBe(200);
    expect(body.plan === null || body.plan.changes.length > 0).toBe(true);
    expect((await preview({ manifest: await manifestText() })).status).toBe(200);
  });

  it('returns 409 when sync has read another version since', async () => {
    const { status, body } = await preview({ manifest: 'a: 1' }, { base: 'f'.repeat(40) });
    expect(status).toBe(409);
    expect(body.error).toMatchObject({ param: 'base' });
    expect(body.error.message).toContain(commit);
  });

  it('returns 400 without a change, and with two', async () => {
    expect((await preview({})).status).toBe(400);
    expect((await preview({ manifest: 'a', spec: {} })).status).toBe(400);
  });

  it('is refused to credentials of one workspace, because files concern all of them', async () => {
    const made = await setup.server.request('POST', '/v2/workspaces', { body: { name: 'Team' } });
    const send = await bindToWorkspace(setup.server, made.body.id);
    const body = { kind: 'Config', id, base: commit, manifest: 'a: 1' };
    const path = '/admin/v2/gatewright/proposals/preview';
    expect((await send('POST', path, { body })).status).toBe(403);
  });

  it('changes nothing on the server', async () => {
    const before = await setup.server.request('GET', `/v1/configs/${id}`);
    await preview({ spec: { name: 'Changed', config: {} } });
    const after = await setup.server.request('GET', `/v1/configs/${id}`);
    expect(after.body).toEqual(before.body);
    expect(after.headers.etag).toBe(before.headers.etag);
  });

  it('cannot be opened as a pull request, and says which settings are missing', async () => {
    const manifest = (await manifestText()).replace('attempts: 2', 'attempts: 3');
    const change = { kind: 'Config', id, base: commit, manifest, proposal_key: 'one' };
    const { status, body } = await setup.post('', change);
    expect(status).toBe(409);
    expect(body.error.message).toContain('GATEWRIGHT_PROPOSALS_REPOSITORY');
  });
});
