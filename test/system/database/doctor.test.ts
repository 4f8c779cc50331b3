/** Tests what `gatewright doctor` finds in a real database, and that it changes nothing. */
import { randomBytes, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idToBytes, newId } from '../../../src/model/wire/ids.ts';
import { bootstrapTenant } from '../../../src/store/bootstrap.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow } from '../../support/rows/api-key-row.ts';
import { endWindow, insertBudget, insertCounter } from '../../support/rows/usage-rows.ts';
import { runCli } from '../commands/run-cli.ts';

let test: TestDatabase;
let organisationId: string;
const env = { GATEWRIGHT_MASTER_KEY: randomBytes(32).toString('base64') };

beforeAll(async () => {
  test = await createTestDatabase({ breaksRules: true });
  const keyring = { hashCredential: () => randomBytes(32), pepperId: '00000000' };
  const options = { keyring, name: 'platform', apiKeyPrefix: '', now: Date.now() };
  ({ organisationId } = await bootstrapTenant(test.database, options));
});
afterAll(() => test[Symbol.asyncDispose]());

const doctor = (...words: string[]) => runCli(['doctor', ...words], test.settings, { env });

describe('doctor', () => {
  it('finds nothing wrong in a new tenant, and writes nothing', async () => {
    const { exitCode, stdout, stderr } = await doctor();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^ok {5}database .* schema current$/m);
    expect(stdout).toMatch(/^ok {5}master key {2}not in use yet$/m);
    expect(stdout).toMatch(/^ok {5}clock/m);
    expect(stdout).toMatch(/^ok {5}tables {6}nothing found wrong by \d\d rules$/m);
    expect(stdout).toMatch(/^ok {5}documents {3}no unknown fields or names$/m);
    expect(await test.database.db.selectFrom('data_keys').selectAll().execute()).toEqual([]);
  });

  it.each([
    [
      'tiny-injection',
      0,
      /^ok {5}model {7}tiny-injection \(text-classification\), files verified$/m,
    ],
    ['nothing', 3, /^wrong {2}model {7}.*manifest\.json cannot be read \(ENOENT\)$/m],
  ])('verifies the model for guardrails in %s', async (name, exitCode, line) => {
    const folder = resolve(import.meta.dirname, '../../fixtures/guardrail-models', name);
    const models = { ...env, GATEWRIGHT_GUARDRAIL_MODEL_DIR: folder };
    const ended = await runCli(['doctor'], test.settings, { env: models });
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.stdout).toMatch(line);
  });

  it('names every row with a dangling reference, and exits with 3', async () => {
    const { db } = test.database;
    const [gone, lost] = [randomUUID(), randomUUID()];
    await db
      .insertInto('api_keys')
      .values(apiKeyRow({ organisation_id: organisationId, workspace_id: gone, config_id: lost }))
      .execute();
    await db
      .insertInto('config_versions')
      .values({
        organisation_id: organisationId,
        resource_id: idToBytes(lost),
        number: 1,
        id: idToBytes(newId()),
        name: 'x',
        config: '{}',
        created_by: gone,
        created_at: 0,
      })
      .execute();
    await db
      .insertInto('managed_resources')
      .values({
        organisation_id: organisationId,
        kind: 'Config',
        resource_id: lost,
        workspace: '',
        name: 'x',
        owner: 'o',
        recorded_by: '',
        source: '{}',
        last_applied: '{}',
        updated_at: 0,
      })
      .execute();
    const [counted, ended, held] = [newId(), newId(), newId()];
    const policy = (id: string) => ({ organisationId, kind: 'policy', id }) as const;
    await insertCounter(db, policy(counted), { windowStart: 1, used: 1 });
    await insertCounter(db, policy(counted), { windowStart: 2, used: 1 });
    await endWindow(db, policy(ended), 1, 2);
    await insertBudget(db, organisationId, { subject_id: held });
    const ofNobody = { organisation_id: organisationId, owner: 'nobody' };
    await db
      .insertInto('sync_status')
      .values({ ...ofNobody, report: '{}', told_at: 0 })
      .execute();
    const lostChanges = { ...ofNobody, revision: 7, start: 0, changes: '[]' };
    await db.insertInto('sync_revision_changes').values(lostChanges).execute();
    const { exitCode, stdout } = await doctor('-o', 'json');
    expect(exitCode).toBe(3);
    const { inconsistencies } = JSON.parse(stdout);
    const reported = inconsistencies.map(
      (one: Record<string, string>) => `${one.table}: ${one.fault}`,
    );
    expect(reported).toEqual([
      `api_keys: refers in workspace_id to a missing row of workspaces: ${gone}`,
      `api_keys: refers in config_id to a missing row of configs: ${lost}`,
      `config_versions: is a version of a missing row of configs: ${lost.replaceAll('-', '')}`,
      'api_keys: has no value and cannot be used',
      `managed_resources: claims a missing Config: ${lost}`,
      'sync_status: belongs to an owner without a lease',
      'sync_revision_changes: belongs to a missing revision: 7',
      'usage_counters: counts for a missing policy',
      'usage_windows: counts for a missing policy',
      `usage_budgets: is the budget of a missing row of api_keys: ${held}`,
    ]);
    const named = inconsistencies.map((one: { id: string }) => one.id);
    expect(named).toEqual(expect.arrayContaining([counted, ended, held]));
    expect((await doctor()).stdout).toMatch(/^wrong {2}tables {6}10 found wrong by \d\d rules$/m);
  });

  it('names stored documents with unknown fields, and configs with unknown providers and guardrails', async () => {
    const { db } = test.database;
    const times = { created_at: 0, last_updated_at: 0 };
    const row = { organisation_id: organisationId, workspace_id: null, name: 'x', ...times };
    const people = { owner_id: organisationId, updated_by: organisationId };
    const [config, guardrail] = [randomUUID(), randomUUID()];
    const document = {
      inputGuardrails: ['pii'],
      before_request_hooks: [{ id: 'gone' }, { deny: true }],
      targets: [{ provider: '@gone' }],
    };
    const versioned = { version: 1, version_id: randomUUID(), status: 'active' } as const;
    await db
      .insertInto('configs')
      .values({
        ...row,
        ...people,
        ...versioned,
        id: config,
        slug: 'c',
        is_default: 0,
        config: JSON.stringify(document),
      })
      .execute();
    const parameters = { wrods: ['a'] };
    await db
      .insertInto('guardrails')
      .values({
        ...row,
        ...people,
        ...versioned,
        id: guardrail,
        slug: 'g',
        target: 'llm',
        checks: JSON.stringify([{ id: 'default.contains', parameters }]),
        actions: '{}',
      })
      .execute();
    const { exitCode, stdout } = await doctor('-o', 'json');
    expect(exitCode).toBe(3);
    const found = JSON.parse(stdout).inconsistencies.filter(
      ({ id }: { id: string }) => id === config || id === guardrail,
    );
    expect(found).toEqual([
      {
        organisationId,
        table: 'configs',
        id: config,
        fault: expect.stringMatching(
          /^config\.inputGuardrails: is not a known field; did you mean "input_guardrails"\?$/,
        ),
      },
      {
        organisationId,
        table: 'configs',
        id: config,
        fault: 'config.targets[0].provider: names the provider "@gone", which no workspace has',
      },
      {
        organisationId,
        table: 'configs',
        id: config,
        fault:
          'config.before_request_hooks[0].id: names the guardrail "gone", which cannot judge its requests',
      },
      {
        organisationId,
        table: 'configs',
        id: config,
        fault: 'config.before_request_hooks[1]: has no checks and names no guardrail',
      },
      {
        organisationId,
        table: 'guardrails',
        id: guardrail,
        fault: expect.stringMatching(/^checks\[0\]\.parameters\.wrods: .*did you mean "words"\?$/),
      },
    ]);
    expect((await doctor()).stdout).toMatch(/^wrong {2}documents {3}5 unknown fields or names$/m);
  });
});
