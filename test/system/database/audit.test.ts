/** Tests the audit commands: exit codes, and reports of manipulated rows. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { auditTrail } from '../../../src/store/logs/audit-log.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { runCli } from '../commands/run-cli.ts';

const env = { GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64') };

it('exits with 3 and names the changed row; exports all rows; verifies a given head', async () => {
  await using test = await createTestDatabase();
  const run = (...words: string[]) => runCli(words, test.settings, { env });
  const { organisationId, tsgId } = await bootstrapTenant(test.database, {
    keyring: { hashCredential: () => Buffer.alloc(32), pepperId: '0badcafe' },
    name: 'platform',
    apiKeyPrefix: '',
    now: Date.now(),
  });
  // Rows without an organisation belong to the deployment.
  await auditTrail(true)(test.database.db, [
    {
      organisationId: '',
      workspaceId: null,
      at: Date.now(),
      requestId: '',
      changes: {},
      actorKind: 'system',
      actorId: 'authentication',
      action: 'refuse',
      resourceKind: 'Credential',
      resourceId: '',
    },
  ]);
  const sealed = await run('jobs', 'run', 'seal-audit-log', '-o', 'json');
  expect(sealed).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(sealed.stdout)).toMatchObject({ state: 'done' });
  const whole = await run('audit', 'verify', '-o', 'json');
  expect(whole).toMatchObject({ exitCode: 0 });
  const [report, ofDeployment] = JSON.parse(whole.stdout).organisations;
  expect(ofDeployment).toMatchObject({ organisationId: '', sealed: 1, unsealed: 0, faults: [] });
  expect(report).toMatchObject({ organisationId, unsealed: 0, faults: [] });
  const { position, hash } = report.head;
  const exported = await run('audit', 'export', '--organisation', tsgId);
  const records = exported.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(records).toHaveLength(position);
  expect(new Set(records.map((one) => one.chain_hash))).toContain(hash);
  const others = await run('audit', 'export', '--organisation', 'deployment');
  expect(others.stdout).toContain('"action":"refuse"');
  const verified = await run('audit', 'verify', '--organisation', 'deployment');
  expect(verified.stdout).toContain('deployment  unchanged  1 sealed');
  await test.database.db
    .updateTable('audit_log')
    .set({ actor_id: 'nobody' })
    .where('chain_position', '=', 1)
    .where('organisation_id', '=', organisationId)
    .execute();
  const heads = ['--organisation', tsgId, '--head', `${position}:${'0'.repeat(64)}`];
  const broken = await run('audit', 'verify', ...heads);
  expect(broken).toMatchObject({ exitCode: 3 });
  const { id } = records.find((one) => one.chain_position === 1);
  expect(broken.stdout).toContain(`changed 1  ${id}`);
  expect(broken.stdout).toContain(`otherHead ${position}:`);
  expect(await run('audit', 'verify', '--head', 'x')).toMatchObject({ exitCode: 5 });
});
