/** Verifies that Git hosts of each form receive one pull request for each proposal. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listAudit } from '../../support/server/tenant.ts';
import {
  forgeToken,
  type ProposalSetup,
  routingFile,
  sourceFolder,
  startProposals,
} from '../../support/sync/proposals.ts';

const path = `${sourceFolder}/configs.yaml`;

describe.each(['github', 'gitlab', 'gitea'] as const)('a Git host with the API of %s', (form) => {
  let setup: ProposalSetup;
  let commit: string;
  let id: string;
  beforeAll(async () => {
    setup = await startProposals(form);
    commit = await setup.sync({ 'configs.yaml': routingFile });
    id = await setup.configId('routing');
  });
  afterAll(() => setup[Symbol.asyncDispose]());

  const config = { retry: { attempts: 2 }, cache: { mode: 'simple' } };

  const propose = (number: number, more: object = {}) =>
    setup.post('', {
      kind: 'Config',
      id,
      base: commit,
      spec: { name: `Routing ${number}`, config },
      proposal_key: `key-${number}`,
      ...more,
    });

  it('receives branch, commit and pull request', async () => {
    const { status, body } = await propose(3, { title: 'More tries', description: 'They fail.' });
    expect(status).toBe(200);
    const { repository, forge } = setup;
    expect(body).toMatchObject({ path, is_open: true, is_new: true, number: 1 });
    expect(body.url).toMatch(/^https:\/\/git\.example\.com\/acme\/gateway\/.*1$/);
    const expected = routingFile.replace('"Routing"', '"Routing 3"');
    expect(repository.read(body.branch, path)).toBe(expected);
    expect(repository.read('main', path)).toBe(routingFile);
    expect(repository.git(['rev-parse', `${body.branch}~1`])).toBe(commit);
    expect(repository.git(['log', '-1', '--format=%s', body.branch])).toBe('test');
    expect(forge!.pulls).toMatchObject([
      { branch: body.branch, base: 'main', title: 'More tries', state: 'open' },
    ]);
    expect(forge!.pulls[0]!.body).toMatch(/^They fail\./);
    const write = forge!.requests.find(({ body: sent }) =>
      JSON.stringify(sent)?.includes('content'),
    );
    const sent = write!.body.actions?.[0] ?? write!.body;
    expect(Buffer.from(sent.content, 'base64').toString()).toBe(expected);
  });

  it('receives one pull request for repetitions, also at once and after lost responses', async () => {
    const { forge } = setup;
    const before = forge!.pulls.length;
    forge!.loseResponse = { method: 'POST', path: /(?:pulls|merge_requests)$/ };
    expect((await propose(4)).status).toBe(503);
    const answers = await Promise.all([propose(4), propose(4)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ body }) => body.url)).size).toBe(1);
    expect(answers[0]!.body.is_new).toBe(false);
    expect(forge!.pulls.length).toBe(before + 1);
  });

  it('goes on after a branch whose creation got no response', async () => {
    setup.forge!.loseResponse = { method: 'POST', path: /(?:refs|branches)$/ };
    expect((await propose(5)).status).toBe(503);
    const { status, body } = await propose(5);
    expect(status).toBe(200);
    expect(setup.repository.read(body.branch, path)).toContain('Routing 5');
  });

  it('keeps what somebody has pushed to the branch of a proposal', async () => {
    setup.forge!.loseResponse = { method: 'POST', path: /(?:pulls|merge_requests)$/ };
    await propose(6);
    const { branch } = setup.forge!.pulls.at(-1)!;
    setup.forge!.pulls.pop();
    setup.repository.change(branch, path, 'edited by hand\n');
    expect((await propose(6)).status).toBe(200);
    expect(setup.repository.read(branch, path)).toBe('edited by hand\n');
  });

  it('opens another one under another key', async () => {
    const first = await propose(3, { proposal_key: 'another' });
    expect(first.body.is_new).toBe(true);
  });

  it.each([
    [401, 'GATEWRIGHT_PROPOSALS_TOKEN', 409],
    [403, 'write contents and pull requests', 409],
    [301, 'GATEWRIGHT_PROPOSALS_API_URL', 409],
    [500, 'try again later', 503],
  ])('names host, status %i and fix, and never the token', async (refused, fix, expected) => {
    const { forge } = setup;
    forge!.refusal = { status: refused, body: { message: `no ${forgeToken}` } };
    const { status, body } = await propose(7);
    forge!.refusal = null;
    expect(status).toBe(expected);
    expect(body.error.message).toContain(
      `at ${new URL(forge!.apiUrl).host} responds with ${refused}`,
    );
    expect(body.error.message).toContain(fix);
    expect(JSON.stringify(body)).not.toContain(forgeToken);
  });

  it('is asked nothing for a change with new faults, or none', async () => {
    const before = setup.forge!.requests.length;
    const faulty = await propose(8, { spec: { name: 'Routing', config: { retry: 'many' } } });
    expect(faulty.status).toBe(400);
    expect(faulty.body.error.message).toContain('configs.yaml:');
    expect((await propose(8, { spec: { name: 'Routing', config } })).status).toBe(400);
    expect(setup.forge!.requests.length).toBe(before);
  });

  it('audits who proposed what, before and after, without the token', async () => {
    const rows = (await listAudit(setup.server, id)).filter(
      ({ resource_kind: kind }) => kind === 'PullRequest',
    );
    expect(rows[0]).toMatchObject({ changes: { step: 'requested', path, base: commit } });
    expect(rows.some(({ changes }) => (changes as { url?: string }).url !== undefined)).toBe(true);
    expect(JSON.stringify(rows)).not.toContain(forgeToken);
    expect(setup.server.logLines.join('\n')).not.toContain(forgeToken);
  });

  it('refuses a file that has changed in the repository since sync has read it', async () => {
    setup.repository.change('main', path, routingFile.replace('attempts: 2', 'attempts: 9'));
    const { status, body } = await propose(10);
    expect(status).toBe(409);
    expect(body.error).toMatchObject({ param: 'base' });
    expect(setup.forge!.requests.at(-1)!.method).toBe('GET');
  });
});
