/** Searches every output for planted secrets, and reports what one tenant could read of another. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Aftermath, Invariant } from './invariant.ts';

/** Output of every process by the name of its source. */
async function outputs({ scene, metrics }: Aftermath): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of readdirSync(scene.logFolder)) {
    found.set(`log ${name}`, readFileSync(join(scene.logFolder, name), 'utf8'));
  }
  found.set('mails', readFileSync(scene.mailbox.path, 'utf8'));
  found.set('metrics', metrics.join('\n'));
  const { db } = scene.witnessDatabase;
  for (const [table, column] of textColumns) {
    const { rows } = await sql<{ value: unknown }>`
      SELECT ${sql.ref(column)} AS value FROM ${sql.table(table)}`.execute(db);
    found.set(`${table}.${column}`, rows.map(({ value }) => String(value)).join('\n'));
  }
  return found;
}

/** Columns that people read, in lists, exports and the console. */
const textColumns = [
  ['audit_log', 'changes'],
  ['request_logs', 'earlier_attempts'],
  ['usage_alerts', 'last_error'],
  ['configs', 'config'],
] as const;

async function leakedCanaries(aftermath: Aftermath): Promise<string[]> {
  const { canaries } = aftermath.scene;
  const leaks: string[] = [];
  for (const [name, text] of await outputs(aftermath)) {
    for (const [at, canary] of canaries.entries()) {
      if (text.includes(canary)) leaks.push(`${name} contains canary ${at}`);
    }
  }
  return leaks;
}

export const secretInvariants: readonly Invariant[] = [
  {
    name: 'isolation violations',
    document: 'docs/explanation/threat-model.md',
    check: async ({ loads }) => [...loads.objects.leaked, ...loads.administration.leaked],
  },
  {
    name: 'canaries leaked',
    document: 'docs/explanation/threat-model.md',
    check: leakedCanaries,
  },
];
