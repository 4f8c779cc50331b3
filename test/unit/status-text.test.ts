/** Guarantees that what a person has to do stands beneath the table of owners once, with its place. */
import { expect, it } from 'vitest';
import { statusText } from '../../src/commands/status-text.ts';
import type { SyncStatus } from '../../src/model/sync-record.ts';

const at = '2026-11-22T00:00:00.000Z';

function notesOf(message: string): string {
  const status: SyncStatus = {
    ...{ object: 'sync_status', owner: 'team', as_of: at, told_at: at },
    ...{ lease: null, revision: null, suspensions: [] },
    report: {
      ...{ source: 'gw', commit_seen: null, commit_applied: null, state: 'Degraded', message },
      error: { file: 'a.yaml', line: 11, column: 38, message },
      ...{ drift_count: 0, next_look_at: at, workspaces: [] },
    },
  };
  const text = statusText([status], { wide: false, resumeOf: () => '' });
  return text.slice(text.indexOf('\n\n') + 2);
}

it.each([
  ['deficient indentation', 'team: a.yaml:11:38: deficient indentation\n'],
  [
    'a.yaml:11:38 spec.slug must be text\n\n1 fault in 1 file\n',
    'team: a.yaml:11:38 spec.slug must be text\n  \n  1 fault in 1 file\n',
  ],
])('an error is told with its place once: %j', (message, told) => {
  expect(notesOf(message)).toBe(told);
});
