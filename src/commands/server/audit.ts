/** Defines the `audit` command, which verifies and exports the audit log. */
import { resolve } from 'node:path';
import type { Keyring } from '../../auth/keyring.ts';
import { type Ending, Failure } from '../../failure.ts';
import { createLog } from '../../log.ts';
import type { ChainFault, SealedRow } from '../../model/logs/audit-chain.ts';
import { toAuditRecord } from '../../model/logs/audit-log.ts';
import { idFromBytes } from '../../model/wire/ids.ts';
import { readSettings } from '../../settings.ts';
import { type Db, openDatabase } from '../../store/connection/db.ts';
import * as auditLog from '../../store/logs/audit-log.ts';
import { deploymentId } from '../../store/resources/data-keys.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { requireMigrated, resolveDatabase } from '../database/database.ts';
import { openKeyring } from '../database/keyring.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { homeOption, outputForm, requiredChoice, textOption } from '../shared/option.ts';
import { type ChainReport, type Head, verifyChain } from './audit-chain.ts';

interface Options {
  readonly action: (typeof actions)[number];
  readonly organisation: string | undefined;
  readonly head: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly output: 'text' | 'json';
  readonly home: string | undefined;
}

const actions = ['verify', 'export'] as const;
/** Name for rows that belong to no organisation. */
const deploymentName = 'deployment';

export const audit: Command<Options> = {
  examples: [
    ['gatewright audit verify', 'Exit 0 when the log is unchanged, else 3'],
    [
      'gatewright audit verify --organisation 1234567890 --head 41:9f…',
      'Also verify that the log continues an earlier head',
    ],
    [
      'gatewright audit export --from 2026-11-01T00:00:00Z > november.jsonl',
      'Every change since then as one JSON line, oldest first',
    ],
  ],
  options: {
    action: requiredChoice(actions, 'verify or export'),
    organisation: textOption('ID', {
      describe:
        'Only this organisation, by id or TSG id; `deployment` for rows without organisation',
      fallback: 'all',
    }),
    head: textOption('POSITION:HASH', {
      describe: 'verify: an earlier head, as logged by a server; needs --organisation',
      fallback: 'none',
    }),
    from: textOption('TIME', { describe: 'export: start of the period', fallback: 'the first' }),
    to: textOption('TIME', { describe: 'export: end of the period', fallback: 'the last' }),
    output: outputForm(['text', 'json']),
    home: homeOption,
  },
  run: async (options, io) => {
    assertOptions(options);
    const settings = readSettings(undefined, { cwd: io.cwd });
    const home = resolve(io.cwd, options.home ?? settings.home);
    const databaseSettings = await resolveDatabase(settings, home);
    await requireMigrated(databaseSettings);
    const log = createLog({ level: settings.logLevel ?? 'warn', destination: io.stderr });
    await using database = openDatabase(databaseSettings, { log, queryTimeoutMs: 0 });
    const ids = await organisationsOf(database.db, options.organisation);
    if (options.action === 'export') return await exportRows(database.db, ids, options, io);
    const keyring = await openKeyring(settings, home, database);
    return await verify(database.db, keyring, ids, options, io);
  },
};

function assertOptions({ action, organisation, head, from, to }: Options): void {
  const wrong =
    action === 'export'
      ? head === undefined
        ? null
        : '--head'
      : (from ?? to)
        ? '--from and --to'
        : null;
  if (wrong !== null) {
    throw new Failure('invalidInput', `audit ${action} does not accept ${wrong}; remove it`);
  }
  if (head !== undefined && organisation === undefined) {
    throw new Failure('invalidInput', '--head belongs to one organisation: add --organisation ID');
  }
}

/** Ids of the organisations to process. */
async function organisationsOf(db: Db, named: string | undefined): Promise<string[]> {
  if (named === undefined) return await auditLog.listOwners(db);
  if (named === deploymentName) return [deploymentId];
  const found = await organisations.findEvenDeleted(db, named);
  if (found !== undefined) return [found.id];
  throw new Failure(
    'invalidInput',
    `the organisation ${named} does not exist; omit --organisation for all, or use deployment`,
  );
}

const headPattern = /^(\d{1,15}):([0-9a-f]{64})$/;

function readHead(text: string | undefined): Head | null {
  if (text === undefined) return null;
  const [, position, hash] = headPattern.exec(text) ?? [];
  if (position !== undefined)
    return { position: Number(position), hash: Buffer.from(hash!, 'hex') };
  const message =
    '--head must be POSITION:HASH as logged by a server, with 64 lower-case hex digits';
  throw new Failure('invalidInput', message);
}

async function verify(
  db: Db,
  keyring: Pick<Keyring, 'auditKey'>,
  ids: readonly string[],
  options: Options,
  { stdout, signal }: CommandIo,
): Promise<Ending> {
  const head = readHead(options.head);
  let isWhole = true;
  const reports = [];
  for (const id of ids) {
    const report = await verifyChain(db, keyring.auditKey(id), id, { head, signal });
    isWhole &&= report.faults.length === 0;
    if (options.output === 'json') reports.push(reportJson(report));
    else stdout.write(reportText(report));
  }
  if (options.output === 'json') stdout.writeJson({ organisations: reports });
  return isWhole ? 'success' : 'partialFailure';
}

const meanings: Readonly<Record<ChainFault['fault'] | 'otherHead', string>> = {
  changed: 'was changed after it was sealed',
  removed: 'was removed; the id is that of the last removed row, if known',
  inserted: 'was inserted: its position belongs to another row',
  backdated: 'was written more than a day after its own timestamp',
  moved: 'the record of the chain was changed in the database',
  otherHead: 'differs from the head given by --head',
};

function reportText({ organisationId, sealed, unsealed, head, faults }: ChainReport): string {
  const at =
    head === null ? 'nothing sealed' : `head ${head.position}:${head.hash.toString('hex')}`;
  const waiting = unsealed === 0 ? '' : `, ${unsealed} not sealed yet`;
  const lines = faults.map((one) => {
    const place = one.from === one.to ? `${one.from}` : `${one.from} to ${one.to}`;
    const named = one.id === null ? '' : `  ${idFromBytes(one.id)}`;
    const row = one.row === null ? '' : `  ${describeRow(one.row)}`;
    return `  ${one.fault} ${place}${named}${row}: ${meanings[one.fault]}\n`;
  });
  const count = faults.length === 0 ? 'unchanged' : `${faults.length} wrong`;
  return `${organisationId || deploymentName}  ${count}  ${sealed} sealed${waiting}  ${at}\n${lines.join('')}`;
}

function describeRow({ at, action, resource_kind, resource_id }: SealedRow): string {
  return `${new Date(at).toISOString()} ${action} ${resource_kind} ${resource_id}`;
}

function reportJson({ organisationId, sealed, unsealed, head, faults }: ChainReport) {
  return {
    organisationId,
    sealed,
    unsealed,
    head: head && { position: head.position, hash: head.hash.toString('hex') },
    faults: faults.map(({ fault, from, to, id }) => ({
      fault,
      from,
      to,
      id: id && idFromBytes(id),
      meaning: meanings[fault],
    })),
  };
}

const pageRows = 1_000;

async function exportRows(
  db: Db,
  ids: readonly string[],
  { from, to }: Options,
  { stdout, signal }: CommandIo,
): Promise<Ending> {
  const range = {
    from: momentOf(from, '--from') ?? 0,
    to: momentOf(to, '--to') ?? Number.MAX_SAFE_INTEGER,
  };
  for (const id of ids) {
    let after: auditLog.AuditPosition | null = null;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const rows: auditLog.AuditRow[] = await auditLog.listOldestFirst(
        db,
        id,
        range,
        after,
        pageRows,
      );
      for (const row of rows) stdout.writeJsonLine(toAuditRecord(row));
      after = rows.at(-1) ?? null;
      isMore = rows.length === pageRows;
    }
  }
  signal.throwIfAborted();
  return 'success';
}

/** Parses a time option; milliseconds since the epoch. */
function momentOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (!Number.isNaN(ms) && ms >= 0) return ms;
  throw new Failure('invalidInput', `${option} must be a time such as 2026-11-01T00:00:00Z`);
}
