/** Tests the warnings of a plan about guardrails in use that will judge requests otherwise. */
import { beforeEach, expect, it } from 'vitest';
import type { DesiredResource, Spec } from '../../../../src/sync/resources/resource-set.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

let server: ModelServer;

const team = want('Workspace', 'team');
const words = (actions: Spec, list: readonly string[] = ['bomb'], more: Spec = {}) =>
  want('Guardrail', 'team/words', {
    name: 'Words',
    checks: [{ id: 'default.contains', parameters: { words: [...list], operator: 'none' } }],
    actions,
    ...more,
  });
const ref = { $ref: 'Guardrail/team/words' };
const config = want('Config', 'team/router', {
  config: { provider: 'openai', input_guardrails: [ref] },
});
const monitored = { deny: true, mode: 'monitor' };

beforeEach(() => {
  server = new ModelServer();
  server.apply(server.plan(setOf([team, words(monitored), config])));
});

function warnings(...resources: DesiredResource[]): readonly string[] {
  return server
    .plan(setOf([team, ...resources]))
    .warnings.filter((text) => text.startsWith('Guardrail/team/words'));
}

const advice = 'gatewright guardrails test tells what would change, by a corpus or with --since 7d';

it('warns of a guardrail in use that will reject', () => {
  expect(warnings(words({ deny: true }), config)).toEqual([
    `Guardrail/team/words will reject requests, and Config/team/router uses it; ${advice}`,
  ]);
});

it.each<[string, Spec, string[]]>([
  ['other checks', monitored, ['bomb', 'rocket']],
  ['no rejection any more', { deny: false }, ['bomb']],
  ['another scope', { ...monitored, scan_scope: 'all_messages' }, ['bomb']],
])('warns of a guardrail in use with %s', (_, actions, list) => {
  expect(warnings(words(actions, list), config)).toEqual([
    `Guardrail/team/words will judge requests otherwise, and Config/team/router uses it; ${advice}`,
  ]);
});

it('says nothing of other changes, and of a guardrail that nothing will use', () => {
  expect(warnings(words(monitored), config)).toEqual([]);
  expect(warnings(words(monitored, ['bomb'], { name: 'Other' }), config)).toEqual([]);
  const feedback = { on_fail: { feedback: { value: -1 } } };
  expect(warnings(words({ ...monitored, ...feedback }), config)).toEqual([]);
  expect(warnings(words({ deny: true }), { ...config, absent: true })).toEqual([]);
});

it('warns of a guardrail in use that is taken over with other checks', () => {
  server.find('Guardrail/team/words').managed_by = null;
  const wanted = setOf([team, words({ deny: true }), config]);
  const { changes, warnings: all } = server.plan(wanted, { takeOwnership: true });
  expect(changes.map(({ action, id }) => [action, id])).toEqual([
    ['adopt', 'Guardrail/team/words'],
  ]);
  expect(all).toContain(
    `Guardrail/team/words will reject requests, and Config/team/router uses it; ${advice}`,
  );
});
