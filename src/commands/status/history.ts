/** Defines the `history` command, which lists the changes of each run of an owner. */
import { Failure } from '../../failure.ts';
import {
  type RevisionChange,
  type RevisionWithChanges,
  revisionsMax,
  type SyncRevision,
} from '../../model/kinds/sync-record.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { readRevision, readRevisions } from '../../sync/server/sync-records.ts';
import { oneLine } from '../../terminal-text.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  type Option,
  optionalWord,
  outputForm,
  refused,
  wholeNumberOption,
} from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { displayCommit } from './status-text.ts';
import { refusalAsFailure } from './suspend.ts';

interface HistoryOptions extends ServerOptions {
  readonly revision: number | undefined;
  readonly number: number | undefined;
  readonly output: 'text' | 'json';
}

export const history: Command<HistoryOptions> = {
  examples: [
    ['gatewright history -n 10', 'The latest ten revisions of this owner'],
    ['gatewright history 12', 'What revision 12 changed, by resource and field'],
  ],
  options: {
    revision: revisionWord('Number of the revision to show; all of them when left out'),
    number: {
      ...wholeNumberOption(
        'COUNT',
        { min: 1, max: revisionsMax, example: 10 },
        {
          describe: 'Number of latest revisions',
          fallback: `${revisionsMax}, all that are stored`,
        },
      ),
      letter: 'n',
    },
    output: outputForm(['text', 'json']),
    ...serverOptions,
  },
  conflicts: [['revision', 'number']],
  run: async (options, io) => {
    await using client = openClient(options, io);
    const { revision } = options;
    if (revision === undefined) await showAll(client, options, io);
    else await showOne(client, revision, options, io);
    return 'success';
  },
};

/** The number of a revision as a positional word. */
export function revisionWord(describe: string): Option<number | undefined> {
  const read = ([given]: readonly string[], name: string): number | undefined => {
    if (given === undefined) return undefined;
    if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
    throw refused(`${name} takes the number of a revision, as listed by \`gatewright history\``);
  };
  return { ...optionalWord(describe), read };
}

/** @throws Failure (invalid input) that names the existing revisions */
export async function requireRevision(
  client: AdminClient,
  number: number,
  io: CommandIo,
): Promise<RevisionWithChanges> {
  const found = await refusalAsFailure(readRevision(client, number, io.signal));
  if (found !== null) return found;
  const all = (await requireRevisions(client, io)).map((one) => one.number);
  const existing = all.length === 0 ? 'it has none' : `there are ${all.at(-1)} to ${all[0]}`;
  const message = `owner ${client.owner} has no revision ${number} (any more): ${existing}`;
  throw new Failure('invalidInput', message);
}

async function requireRevisions(client: AdminClient, io: CommandIo): Promise<SyncRevision[]> {
  const found = await refusalAsFailure(readRevisions(client, io.signal));
  if (found !== null) return found;
  throw new Failure(
    'unreachable',
    'the server keeps no revisions of syncs; is it a gatewright server of the same version?',
  );
}

async function showAll(client: AdminClient, options: HistoryOptions, io: CommandIo): Promise<void> {
  const revisions = (await requireRevisions(client, io)).slice(0, options.number);
  if (options.output === 'json') {
    io.stdout.writeJson({ owner: client.owner, revisions });
    return;
  }
  if (revisions.length === 0) {
    io.stdout.write(`No run has changed anything as owner ${client.owner} yet.\n`);
    return;
  }
  io.stdout.write(
    formatTable([
      ['REVISION', 'FINISHED', 'COMMIT', 'CHANGES', 'ENDING', 'SOURCE'],
      ...revisions.map((one) => [
        String(one.number),
        one.finished_at,
        displayCommit(one.commit, false),
        String(one.change_count),
        one.ending,
        one.source,
      ]),
    ]),
  );
}

async function showOne(
  client: AdminClient,
  number: number,
  options: HistoryOptions,
  io: CommandIo,
): Promise<void> {
  const revision = await requireRevision(client, number, io);
  if (options.output === 'json') {
    io.stdout.writeJson(revision);
    return;
  }
  const { commit, source, started_at, finished_at, ending, change_count, recorded_count } =
    revision;
  const more = change_count - recorded_count;
  const lines = [
    `Revision ${number} of owner ${client.owner}: ${ending}`,
    `  commit:    ${commit}`,
    `  source:    ${oneLine(source)}`,
    `  from, to:  ${started_at}, ${finished_at}`,
    `  changes:   ${change_count}`,
    '',
    ...revision.changes.map(changeLine),
    ...(more > 0 ? [`and ${more} more, which are counted but not stored`] : []),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}

const symbols: Readonly<Record<RevisionChange['action'], string>> = {
  create: '+',
  update: '~',
  replace: '±',
  delete: '-',
  adopt: '>',
  rename: '~',
  release: '<',
  rotate: '~',
};

/** `~ update Config/support/routing: /config/retry/attempts` */
function changeLine({ action, kind, workspace, name, fields }: RevisionChange): string {
  const id = [kind, ...(workspace === null ? [] : [workspace]), name].join('/');
  const changed = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
  return oneLine(`${symbols[action]} ${action} ${id}${changed}`);
}
