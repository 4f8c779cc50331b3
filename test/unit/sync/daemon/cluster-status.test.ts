/** Tests the ConfigMap of a sync, and which changes become Events. */
import { describe, expect, it } from 'vitest';
import {
  type ClusterReport,
  statusChanges,
  statusData,
} from '../../../../src/sync/notify/cluster-status-text.ts';

type Workspace = ClusterReport['workspaces'][number];

const workspace = (name: string | null, state: Workspace['state'], message = ''): Workspace => ({
  workspace: name,
  state,
  commit_applied: 'c0ffee',
  drift_count: 0,
  message: message === '' ? null : message,
});

const report = (over: Partial<ClusterReport> = {}): ClusterReport => ({
  source: 'https://git.example.com/gw.git',
  commit_seen: 'c0ffee',
  commit_applied: 'c0ffee',
  state: 'Synced',
  message: null,
  error: null,
  drift_count: 0,
  workspaces: [],
  ...over,
});

const data = (of: ClusterReport) => statusData('platform', of, 0);

describe('the ConfigMap of a daemon', () => {
  it('contains the state, the commits, the last error with its position, and one line per workspace', () => {
    const error = { file: 'a.yaml', line: 3, column: 5, message: 'no such field' };
    const workspaces = [workspace('support', 'Degraded', 'x'), workspace(null, 'Synced')];
    const displayed = data(
      report({ state: 'Degraded', message: 'no such field', error, workspaces }),
    );
    expect(displayed).toEqual({
      owner: 'platform',
      state: 'Degraded',
      message: 'no such field',
      driftCount: '0',
      source: 'https://git.example.com/gw.git',
      error: 'a.yaml:3:5: no such field',
      commitSeen: 'c0ffee',
      commitApplied: 'c0ffee',
      updatedAt: '1970-01-01T00:00:00.000Z',
      'workspaces.json': `{
"(organisation)": {"state":"Synced","commitApplied":"c0ffee","driftCount":0},
"support": {"state":"Degraded","commitApplied":"c0ffee","driftCount":0,"message":"x"}
}
`,
    });
    expect(JSON.parse(displayed['workspaces.json']!)).toHaveProperty('support.state', 'Degraded');
  });

  it('fits a thousand workspaces of the longest names, those with errors first', () => {
    const workspaces = Array.from({ length: 1000 }, (_, index) =>
      workspace(`${index}`.padStart(253, 'w'), index % 10 ? 'Synced' : 'Degraded', '€'.repeat(600)),
    );
    const displayed = data(report({ workspaces }));
    expect(Buffer.byteLength(JSON.stringify(displayed))).toBeLessThan(1024 * 1024);
    const states = Object.values(JSON.parse(displayed['workspaces.json']!)).map(
      (one) => (one as Workspace).state,
    );
    expect(states.filter((state) => state === 'Degraded')).toHaveLength(100);
    expect(Number(displayed.omittedWorkspaces)).toBe(1000 - states.length);
  });

  it('has one line per entry, whatever the source contains', () => {
    const displayed = data(report({ message: 'a\n  b\u001b[31m\n', source: '/tmp/a\nb' }));
    expect([displayed.message, displayed.source]).toEqual(['a; b\\u001b[31m', '/tmp/a; b']);
  });
});

describe('the Events of a daemon', () => {
  const changes = (before: ClusterReport | null, after: ClusterReport): string[] =>
    statusChanges('platform', before === null ? {} : data(before), after).map(({ note }) => note);

  it('emits each change once, from the first report on', () => {
    const calm = report({ workspaces: [workspace('support', 'Synced')] });
    const wrong = report({
      state: 'Degraded',
      message: 'some changes failed',
      workspaces: [workspace('support', 'Degraded', 'refused'), workspace('other', 'Synced')],
    });
    expect(changes(null, calm)).toEqual(['platform is Synced at c0ffee']);
    expect(changes(calm, calm)).toEqual([]);
    expect(changes(calm, wrong)).toEqual([
      'platform is Degraded at c0ffee, was Synced: some changes failed',
      'workspace support is Degraded, was Synced: refused',
    ]);
    expect(changes(wrong, wrong)).toEqual([]);
    expect(changes(wrong, calm)).toEqual([
      'platform is Synced at c0ffee, was Degraded',
      'workspace support is Synced, was Degraded',
    ]);
  });

  it('summarises all but twenty workspaces in the last Event', () => {
    const workspaces = Array.from({ length: 50 }, (_, index) => workspace(`w${index}`, 'Degraded'));
    const reported = changes(report(), report({ workspaces }));
    expect(reported).toHaveLength(20);
    expect(reported.at(-1)).toContain('so are or were 30 more');
  });

  it('emits again, without an error, when somebody else has written into the ConfigMap', () => {
    for (const text of ['', 'no json', '[]', 'null', '{"support": 7}', '{"support": null}']) {
      const before = { state: 'Synced', 'workspaces.json': text };
      const now = report({ workspaces: [workspace('support', 'Suspended')] });
      const reported = statusChanges('platform', before, now);
      expect(reported.map(({ about, state }) => [about, state])).toEqual([
        ['support', 'Suspended'],
      ]);
    }
  });
});
