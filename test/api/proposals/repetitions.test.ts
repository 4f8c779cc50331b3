/** Verifies what a repeated proposal returns after sync has read a newer commit, and who may propose in a browser. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../../support/network/exchange.ts';
import { addUser, ownerOf } from '../../support/server/people.ts';
import { startTestServer } from '../../support/server/server.ts';
import { addSession, signedInSettings } from '../../support/server/sessions.ts';
import {
  forgeToken,
  type ProposalSetup,
  routingFile,
  sourceFolder,
  startProposals,
} from '../../support/sync/proposals.ts';

const path = `${sourceFolder}/configs.yaml`;
const config = { retry: { attempts: 2 }, cache: { mode: 'simple' } };
const renamed = (name: string): string => routingFile.replace('"Routing"', `"${name}"`);

describe.each(['github', 'gitlab', 'gitea'] as const)('a repeated proposal at %s', (form) => {
  let setup: ProposalSetup;
  let commit: string;
  let id: string;
  beforeAll(async () => {
    setup = await startProposals(form);
    commit = await setup.sync({ 'configs.yaml': routingFile });
    id = await setup.configId('routing');
  });
  afterAll(() => setup[Symbol.asyncDispose]());

  /** The commit that sync has read last. */
  const readCommit = async (): Promise<string> => {
    const path = `/admin/v2/gatewright/proposals/manifest?kind=Config&id=${id}`;
    return (await setup.server.request('GET', path)).body.commit;
  };

  const propose = (name: string, more: object = {}) => {
    const change = { kind: 'Config', id, base: commit, spec: { name, config } };
    return setup.post('', { ...change, proposal_key: 'key', ...more });
  };

  it('returns the pull request after sync has read a commit that does not concern it', async () => {
    const first = await propose('One');
    expect(first.body).toMatchObject({ is_new: true, path });
    await setup.sync({ 'configs.yaml': routingFile.replace('attempts: 1', 'attempts: 3') });
    expect(await readCommit()).not.toBe(commit);
    const again = await propose('One');
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...first.body, is_new: false });
    expect(setup.forge!.pulls).toHaveLength(1);
  });

  it('returns the pull request after sync has read its own merge, although it is closed', async () => {
    await setup.sync({ 'configs.yaml': renamed('One') });
    setup.forge!.pulls[0]!.state = 'closed';
    const { status, body } = await propose('One');
    expect(status).toBe(200);
    expect(body).toMatchObject({ number: 1, is_new: false, is_open: false });
    expect(setup.forge!.pulls).toHaveLength(1);
  });

  it('is 409 for a change that was not proposed, and for one under another key', async () => {
    for (const { status, body } of [
      await propose('Two'),
      await propose('One', { proposal_key: 'another' }),
    ]) {
      expect(status).toBe(409);
      expect(body.error).toMatchObject({ param: 'base' });
      expect(body.error.message).toContain('read the manifest again and repeat the change');
    }
    expect(setup.forge!.pulls).toHaveLength(1);
  });

  it('opens one pull request for the same change on the newer commit', async () => {
    const base = await readCommit();
    const answers = [await propose('Two', { base }), await propose('Two', { base })];
    expect(answers.map((one) => one.body.is_new)).toEqual([true, false]);
    expect(setup.repository.read(answers[0]!.body.branch, path)).toBe(renamed('Two'));
  });
});

describe('a proposal of a signed-in person', () => {
  let setup: ProposalSetup;
  let change: object;
  let id: string;
  beforeAll(async () => {
    setup = await startProposals('gitea', (settings) =>
      startTestServer({ settings: { ...settings, ...signedInSettings } }),
    );
    const base = await setup.sync({ 'configs.yaml': routingFile });
    id = await setup.configId('routing');
    change = { kind: 'Config', id, base, spec: { name: 'By a person', config } };
  });
  afterAll(() => setup[Symbol.asyncDispose]());

  const at = (route: string): string => `${setup.server.url}/admin/v2/gatewright/proposals${route}`;
  const manifest = () => at(`/manifest?kind=Config&id=${id}`);

  /** Statuses of reading the manifest, of a preview, and of a proposal. */
  const statusesOf = async (headers: Record<string, string>, key: string): Promise<number[]> => {
    const read = await exchange('GET', manifest(), undefined, headers);
    const preview = await exchange('POST', at('/preview'), change, headers);
    const proposed = await exchange('POST', at(''), { ...change, proposal_key: key }, headers);
    return [read.status, preview.status, proposed.status];
  };

  const addMember = async (role: 'member' | 'manager' | 'admin'): Promise<string> => {
    const { server } = setup;
    const body = { name: `workspace of a ${role}` };
    const workspace = await server.request('POST', '/v2/admin/workspaces', { body });
    const userId = await addUser(server);
    const users = [{ id: userId, role }];
    const users_path = `/v2/admin/workspaces/${workspace.body.id}/users`;
    expect((await server.request('POST', users_path, { body: { users } })).status).toBe(200);
    return userId;
  };

  it.each(['owner', 'admin'] as const)(
    'is opened for an %s, and audited under them',
    async (role) => {
      const { server, forge } = setup;
      const userId = role === 'owner' ? await ownerOf(server) : await addUser(server, { role });
      const { headers } = await addSession(server, userId);
      const before = forge!.pulls.length;
      expect(await statusesOf(headers, role)).toEqual([200, 200, 200]);
      expect(forge!.pulls.length).toBe(before + 1);
      const rows = await server.database.db
        .selectFrom('audit_log')
        .select(['actor_kind', 'changes'])
        .where('resource_kind', '=', 'PullRequest')
        .where('actor_id', '=', userId)
        .execute();
      expect(rows.map((row) => row.actor_kind)).toEqual(['user', 'user']);
      expect(JSON.stringify(rows)).not.toContain(forgeToken);
    },
  );

  it.each(['member', 'manager', 'admin'] as const)(
    'is refused to a %s of a workspace, whose Git host receives nothing',
    async (role) => {
      const { headers } = await addSession(setup.server, await addMember(role));
      const before = setup.forge!.requests.length;
      expect(await statusesOf(headers, role)).toEqual([403, 403, 403]);
      expect(setup.forge!.requests.length).toBe(before);
    },
  );

  it('is refused while the session shows one workspace, because files concern all of them', async () => {
    const { server } = setup;
    const made = await server.request('POST', '/v2/admin/workspaces', { body: { name: 'One' } });
    const { headers } = await addSession(server, await ownerOf(server));
    const narrowed = { ...headers, 'gatewright-workspace': made.body.slug };
    expect(await statusesOf(narrowed, 'narrowed')).toEqual([403, 403, 403]);
  });

  it('is refused from a page of another site, and after the session has ended', async () => {
    const { server, forge } = setup;
    const { headers } = await addSession(server, await ownerOf(server));
    const before = forge!.requests.length;
    const foreign = { ...headers, origin: 'https://evil.example' };
    expect((await statusesOf(foreign, 'foreign')).slice(1)).toEqual([403, 403]);
    await exchange('DELETE', `${server.url}/v1/session`, undefined, headers);
    expect(await statusesOf(headers, 'ended')).toEqual([401, 401, 401]);
    expect(forge!.requests.length).toBe(before);
  });
});
