/** Defines the `region-logs` command, which lists log rows in the database of a region. */
import { resolve } from 'node:path';
import { requestLogToRecord } from '../../admin/logs/request-log-record.ts';
import { Failure } from '../../failure.ts';
import { createLog } from '../../log.ts';
import {
  type LoggedType,
  loggedTypes,
  type RequestLogRecord,
} from '../../model/logs/request-log.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { readSettings } from '../../settings.ts';
import { type Db, openDatabase } from '../../store/connection/db.ts';
import { readServerTime } from '../../store/connection/server-time.ts';
import * as requestLogs from '../../store/logs/request-logs.ts';
import * as regionHolders from '../../store/regions/region-holders.ts';
import { requireMigrated, resolveDatabase } from '../database/database.ts';
import type { Command } from '../shared/command.ts';
import {
  homeOption,
  optionalChoiceOption,
  outputForm,
  quoted,
  textOption,
  wholeNumberOption,
} from '../shared/option.ts';
import { formatRequests } from '../status/request-table.ts';

interface Options {
  readonly number: number | undefined;
  readonly organisation: string | undefined;
  readonly trace: string | undefined;
  readonly type: LoggedType | undefined;
  readonly output: 'text' | 'json' | 'wide';
  readonly home: string | undefined;
}

const numberUsual = 20;
const numberMax = 1_000;
const dayMs = 86_400_000;

export const regionLogs: Command<Options> = {
  examples: [
    ['gatewright region-logs', 'The latest of the last 24 hours, of all organisations'],
    ['gatewright region-logs --trace order-17 -o json', 'Everything about the requests of a trace'],
  ],
  options: {
    number: {
      ...wholeNumberOption(
        'COUNT',
        { min: 1, max: numberMax, example: 50 },
        { describe: 'How many of the latest', fallback: String(numberUsual) },
      ),
      letter: 'n',
    },
    organisation: textOption('ID', { describe: 'Only of this organisation', fallback: 'all' }),
    trace: textOption('ID', { describe: 'Only of this trace', fallback: 'all' }),
    type: optionalChoiceOption(loggedTypes, {
      describe: 'Only requests to models, or only calls of MCP servers',
      fallback: 'both',
    }),
    output: outputForm(['text', 'json', 'wide']),
    home: homeOption,
  },
  run: async (options, io) => {
    const settings = readSettings(undefined, { cwd: io.cwd });
    const { region } = settings.controlLink;
    if (region === null) {
      const message =
        'region-logs reads the database of a region: run it where GATEWRIGHT_REGION is set, or use ' +
        '`gatewright logs` for the log of the server';
      throw new Failure('invalidInput', message);
    }
    const home = resolve(io.cwd, options.home ?? settings.home);
    const databaseSettings = await resolveDatabase(settings, home);
    await requireMigrated(databaseSettings);
    const log = createLog({ level: settings.logLevel ?? 'warn', destination: io.stderr });
    await using database = openDatabase(databaseSettings, { log });
    const records = await readLatest(database.db, options);
    const { output, type } = options;
    if (output === 'json') io.stdout.writeJson({ region, requests: records });
    else if (records.length > 0) io.stdout.write(formatRequests(records, output === 'wide', type));
    else io.stdout.write(`No requests in region ${region} in the last 24 hours.\n`);
    return 'success';
  },
};

/** Oldest first. Names of keys and workspaces are at home, so that rows have ids only. */
async function readLatest(
  db: Db,
  { number = numberUsual, organisation, trace, type }: Options,
): Promise<RequestLogRecord[]> {
  const now = await readServerTime(db);
  const filter: requestLogs.RequestLogFilter = {
    from: now - dayMs,
    to: now,
    equal: { trace_id: trace },
    guardrails: undefined,
    apiKeyIds: null,
    statusFrom: 0,
    statusTo: requestLogs.statusMax,
    type,
    before: null,
  };
  let latest: requestLogs.RequestLogRow[] = [];
  for (const id of await organisationsOf(db, organisation)) {
    const found = await requestLogs.list(db, id, filter, number);
    latest = [...latest, ...found].sort((a, b) => b.ended_at - a.ended_at).slice(0, number);
  }
  const unknown = { api_key_name: null, workspace_slug: null };
  return latest.reverse().map((row) => requestLogToRecord(row, [], unknown));
}

/** @throws Failure for what is no id */
async function organisationsOf(db: Db, organisation: string | undefined): Promise<string[]> {
  if (organisation === undefined) return regionHolders.listOrganisations(db);
  if (isUuid(organisation)) return [organisation.toLowerCase()];
  const message = `--organisation ${quoted(organisation)} is no id of an organisation: a region does not know names`;
  throw new Failure('invalidInput', message);
}
