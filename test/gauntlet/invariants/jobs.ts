/** Checks what jobs do exactly once: expiry of keys, alerts about budgets and the chain of the audit log. */
import { runCommand } from '../scene/run-command.ts';
import type { Aftermath, Invariant } from './invariant.ts';

const jobs = 'docs/explanation/jobs.md';

async function expiryFaults({ scene, loads }: Aftermath): Promise<string[]> {
  const { db } = scene.witnessDatabase;
  const rows = await db
    .selectFrom('audit_log')
    .select('resource_id')
    .where('action', '=', 'expire')
    .execute();
  const counts = Map.groupBy(rows, ({ resource_id }) => String(resource_id));
  return loads.keyLives.expiring
    .map(({ id }) => ({ id, count: counts.get(id)?.length ?? 0 }))
    .filter(({ count }) => count !== 1)
    .map(({ id, count }) => `key ${id} expired ${count} times by the audit log`);
}

/** Every alert is sent, or waits for its next attempt; a mail may arrive twice after a kill, under one id. */
async function deadDeliveries({ scene }: Aftermath): Promise<string[]> {
  const { db } = scene.witnessDatabase;
  const alerts = await db
    .selectFrom('usage_alerts')
    .select(['label', 'kind', 'state', 'attempts', 'last_error'])
    .execute();
  const dead = alerts.filter(({ state }) => state !== 'sent' && state !== 'waiting');
  const mails = scene.mailbox.entries<{ readonly mail: string }>();
  const ids = new Set(mails.map(({ mail }) => /^Message-ID: (.*)$/im.exec(mail)?.[1]));
  const sent = alerts.filter(({ state }) => state === 'sent').length;
  return [
    ...dead.map(
      ({ label, kind, state, last_error }) => `${label} ${kind}: ${state}, ${last_error}`,
    ),
    ...(ids.size < sent ? [`${sent} alerts are sent, of which ${ids.size} arrived`] : []),
  ];
}

/** Runs a command that exits with 0 when nothing is wrong. */
async function faultsOfCommand(
  { scene: { program, variables } }: Aftermath,
  ...words: readonly string[]
): Promise<string[]> {
  const { exitCode, stdout, stderr } = await runCommand([program, ...words], variables);
  return exitCode === 0 ? [] : [`${words.join(' ')} exited with ${exitCode}: ${stdout}${stderr}`];
}

export const jobInvariants: readonly Invariant[] = [
  { name: 'keys not expired exactly once', document: jobs, check: expiryFaults },
  {
    name: 'deliveries dead',
    document: 'docs/reference/jobs.md, send-alerts',
    check: deadDeliveries,
  },
  {
    name: 'breaks of the audit chain',
    document: 'docs/reference/access.md, Chain',
    check: (aftermath) => faultsOfCommand(aftermath, 'audit', 'verify'),
  },
  {
    name: 'problems found by doctor',
    document: 'docs/guides/operations.md, gatewright doctor',
    check: (aftermath) => faultsOfCommand(aftermath, 'doctor'),
  },
];
