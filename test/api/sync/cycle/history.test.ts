/**
 * Verifies that a run is refused when its source is not a successor of the applied one, until that
 * is permitted.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CycleOptions, CycleResult } from '../../../../src/sync/cycle/cycle-options.ts';
import type { Descent } from '../../../../src/sync/source/source-files.ts';
import type { TestServer } from '../../../support/server/server.ts';
import {
  desiredFrom,
  openSync,
  type SyncSetup,
  startSyncServer,
} from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

beforeEach(async () => {
  server = await startSyncServer();
  sync = openSync(server);
});
afterEach(async () => {
  await sync[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const [first, second, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [
  string,
  string,
  string,
];
const repository = 'https://git.example/team/gw.git#main:prod';

/** Runs a cycle over one version of a source; a null `revision` is a folder. */
async function run(
  revision: string | null,
  text: string,
  options: Partial<CycleOptions> & { repo?: string; stands?: Descent } = {},
): Promise<CycleResult & { requested: string[] }> {
  const { repo = repository, stands = 'descendant', ...rest } = options;
  const set = await desiredFrom(`
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {description: ${text}}
`);
  const requested: string[] = [];
  const descent = async (earlier: string, commit: string): Promise<Descent> => {
    requested.push(`${earlier[0]} ${commit[0]}`);
    return stands;
  };
  const source = { ...set.source, repo, revision };
  const result = await sync.cycle({ ...set, source }, { descent, ...rest });
  return { ...result, requested };
}

describe('a commit', () => {
  it('is applied after an earlier one and after none, and is not checked when it is unchanged', async () => {
    expect(await run(first, 'one')).toMatchObject({ ending: 'success', requested: [] });
    expect(await run(second, 'two')).toMatchObject({ ending: 'success', refusal: null });
    const again = await run(second, 'three');
    expect(again).toMatchObject({ ending: 'success', requested: [] });
  });

  it('is not checked when it changes nothing', async () => {
    await run(first, 'one');
    const same = await run(second, 'one', { stands: 'unrelated' });
    expect(same).toMatchObject({ ending: 'success', refusal: null, requested: [] });
  });

  it.each(['unrelated', 'unproven'] as const)(
    'is refused when it is %s, with the command that permits it',
    async (stands) => {
      await run(first, 'one');
      const refused = await run(second, 'two', { stands });
      expect(refused.ending).toBe('refusedByGuard');
      expect(refused.report).toBeNull();
      expect(refused.refusal?.message).toContain(`${repository} at ${first} (revision 1)`);
      expect(refused.refusal?.message).toContain(`${repository} at ${second}`);
      expect(refused.refusal?.message).toContain('gatewright apply . --accept-history');
      const released = await run(second, 'two', { stands, acceptHistory: true });
      expect(released).toMatchObject({ ending: 'success', requested: [] });
      const next = await run(third, 'three');
      expect(next.requested).toContain('b c');
      expect(next.ending).toBe('success');
    },
  );

  it('is reported in a plan, which refuses nothing', async () => {
    await run(first, 'one');
    const plan = await run(second, 'two', { stands: 'unrelated', act: false });
    expect(plan).toMatchObject({ ending: 'changesPresent', refusal: null });
    expect(plan.warnings.join('\n')).toContain('--accept-history');
  });

  it('is compared with the last applied commit, also when a folder was applied in between', async () => {
    await run(first, 'one');
    await run(null, 'by hand', { repo: '/home/me/gw' });
    const refused = await run(second, 'two', { stands: 'unrelated' });
    expect(refused.refusal?.message).toContain(`at ${first} (revision 1)`);
  });
});

describe('a repository', () => {
  it.each([
    'https://git.example/team/gw#other',
    'ssh://git@git.example/team/gw.git#main:prod',
    'https://GIT.example/team/gw.git/#main',
  ])('is the same under another address, ref or folder: %s', async (repo) => {
    await run(first, 'one');
    expect((await run(second, 'two', { repo })).ending).toBe('success');
  });

  it.each(['https://git.example/evil/gw.git#main:prod', 'https://other.example/team/gw.git#main'])(
    'is refused when it is another one, even at the same commit: %s',
    async (repo) => {
      await run(first, 'one');
      for (const commit of [first, second]) {
        const refused = await run(commit, 'two', { repo });
        expect(refused.refusal?.message).toContain('the repository differs');
        expect(refused.requested).toEqual([]);
      }
      expect((await run(second, 'two', { repo, acceptHistory: true })).ending).toBe('success');
    },
  );
});
