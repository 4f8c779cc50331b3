/** Checks that the state of one environment is not overwritten by another by mistake. */
import { describe, expect, it } from 'vitest';
import { findHistoryRefusal } from '../../../../src/sync/cycle/history-guard.ts';
import { readSourceText, sourceText } from '../../../../src/sync/resources/applied-source.ts';
import { commandOf } from '../../../support/sync/sync-model.ts';

const digest = `sha256:${'d'.repeat(64)}`;
const folder = (environment: string | null) => ({
  repo: '/srv/gateway',
  revision: null,
  digest: 'e'.repeat(64),
  environment,
});

async function refusalOf(
  environment: string | null,
  earlier: readonly { readonly source: string; readonly commit?: string }[],
  acceptHistory = false,
): Promise<string | null> {
  const all = earlier.map(({ source, commit = digest }, at) => ({
    number: earlier.length - at,
    source,
    commit,
  }));
  const applied = { newest: all[0] ?? null, all: async () => all };
  const terms = { acceptHistory, command: commandOf('gatewright apply .') };
  return (await findHistoryRefusal(folder(environment), applied, terms))?.message ?? null;
}

describe('an environment', () => {
  it('rejects a different environment, and names both and the command that allows it', async () => {
    const message = await refusalOf('dev', [{ source: '/srv/gateway --env prod' }]);
    expect(message).toContain('Refused: the environment differs from');
    expect(message).toContain(`/srv/gateway --env prod at ${digest} (revision 1)`);
    expect(message).toContain('/srv/gateway --env dev at sha256:e');
    expect(message).toContain('gatewright apply . --accept-history');
  });

  it.each<[string, string | null, { source: string; commit?: string }[]]>([
    ['is the previous one', 'prod', [{ source: '/x --env prod' }]],
    ['follows a source without environments', 'prod', [{ source: '/x' }]],
    ['is the first', 'prod', []],
    ['is no longer chosen', null, [{ source: '/x --env prod' }]],
    [
      'was applied before the previous one',
      'prod',
      [{ source: '/x --env prod' }, { source: '/x --env dev' }],
    ],
  ])('accepts an environment that %s', async (_, environment, earlier) => {
    expect(await refusalOf(environment, earlier)).toBeNull();
  });

  it('stays recorded beyond individual handovers, and is released explicitly', async () => {
    const earlier = [{ source: 'none', commit: 'none' }, { source: '/x --env prod' }];
    expect(await refusalOf('dev', earlier)).toContain('the environment differs');
    expect(await refusalOf('dev', earlier, true)).toBeNull();
  });

  it.each([
    ['https://git.example/gw.git#main:prod', 'prod'],
    ['/srv/with --env in it', null],
    ['a b', 'prod-eu.1'],
  ])('reads the environment of %s back as written', (repo, environment) => {
    const text = sourceText({ ...folder(environment), repo });
    expect(readSourceText(text)).toEqual({ repo, environment });
    const long = sourceText({ ...folder(environment), repo: 'x'.repeat(3000) });
    expect([long.length, readSourceText(long).environment]).toEqual([2048, environment]);
  });
});
