/** Defines the `suspend` and `resume` commands, which pause sync of an owner or a workspace. */
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { reasonMax, SuspensionReason, type SyncSuspension } from '../../model/kinds/sync-record.ts';
import { Timestamp } from '../../model/wire/timestamp.ts';
import { ApiRefusal } from '../../sync/server/refusal.ts';
import {
  deleteSuspension as resumeAt,
  createSuspension as suspendAt,
} from '../../sync/server/sync-records.ts';
import type { Command } from '../shared/command.ts';
import {
  durationOption,
  type Option,
  optionalWord,
  outputForm,
  quoted,
  textOption,
} from '../shared/option.ts';
import { type GivenOptions, shellLine } from '../shared/shell-line.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';

interface ResumeOptions extends ServerOptions {
  readonly workspace: string | undefined;
  readonly output: 'text' | 'json';
}

interface SuspendOptions extends ResumeOptions {
  readonly until: string | undefined;
  /** Seconds. */
  readonly for: number | undefined;
  readonly reason: string | undefined;
}

const isValid = (given: string): boolean => Timestamp.safeParse(given).success;

export const suspend: Command<SuspendOptions> = {
  examples: [
    ['gatewright suspend --reason release-freeze', 'Pause all writes of this owner'],
    ['gatewright suspend support --for 2h --reason migration', 'One workspace, for two hours'],
    ['gatewright suspend --until 2027-01-04T08:00:00Z --reason holidays', 'Until a moment'],
  ],
  options: {
    workspace: workspaceWord(),
    reason: textOption('TEXT', {
      describe: 'Reason in one line; shown by status',
      fallback: 'none; required',
    }),
    for: durationOption(
      { min: 1, max: 366 * 86_400, example: '2h' },
      { describe: 'How long, by the clock of the database', fallback: 'until it is resumed' },
    ),
    until: textOption('TIME', {
      describe: 'Until when, as 2027-01-04T08:00:00Z',
      fallback: 'until it is resumed',
      isValid,
      expected: 'a time such as 2027-01-04T08:00:00Z',
    }),
    output: outputForm(['text', 'json']),
    ...serverOptions,
  },
  conflicts: [['for', 'until']],
  run: async (options, io) => {
    const { workspace = null, reason = '', until } = options;
    if (!SuspensionReason.safeParse(reason).success) {
      const message = `--reason is needed, one line of up to ${reasonMax} characters: why is it suspended?`;
      throw new Failure('invalidInput', message);
    }
    await using client = openClient(options, io);
    const body = {
      owner: client.owner,
      workspace,
      reason,
      ...(until === undefined ? {} : { until }),
      ...(options.for === undefined ? {} : { for_seconds: options.for }),
    };
    const suspension = await refusalAsFailure(suspendAt(client, body, io.signal));
    const end = resumeLine(io.cwd, options, workspace);
    if (options.output === 'json') io.stdout.writeJson({ ...suspension, resume: end });
    else io.stdout.write(`${suspensionText(suspension)}\nTo resume: ${end}\n`);
    return 'success';
  },
};

export const resume: Command<ResumeOptions> = {
  examples: [
    ['gatewright resume', 'End the suspension of the whole owner'],
    ['gatewright resume support', 'That of one workspace'],
  ],
  options: { workspace: workspaceWord(), output: outputForm(['text', 'json']), ...serverOptions },
  run: async (options, io) => {
    const { workspace = null } = options;
    await using client = openClient(options, io);
    const ended = await refusalAsFailure(resumeAt(client, workspace, io.signal));
    const what = subjectOf(client.owner, workspace);
    if (options.output === 'json') io.stdout.writeJson({ owner: client.owner, workspace, ended });
    else io.stdout.write(`${what} ${ended ? 'is resumed' : 'was not suspended'}\n`);
    return 'success';
  },
};

/** `owner platform, workspace support is suspended until 2027-…, by ops: migration` */
export function suspensionText(suspension: SyncSuspension): string {
  const {
    owner,
    workspace,
    until,
    reason,
    suspended_by: by,
    rolled_back_to: rollback,
  } = suspension;
  const end = until === null ? 'until it is resumed' : `until ${until}`;
  const more = rollback === null || isOfRollback(suspension) ? '' : `; ${rollbackText(rollback)}`;
  return `${subjectOf(owner, workspace)} is suspended ${end}, by ${by}: ${reason}${more}`;
}

/** The reason of a suspension created by a rollback. */
export function rollbackText({ revision, commit }: Rollback): string {
  return `rolled back to revision ${revision} (commit ${commit.slice(0, 12)})`;
}

/** Whether a suspension was created by a rollback and still has its reason. */
export function isOfRollback({ reason, rolled_back_to: rollback }: SyncSuspension): boolean {
  return rollback !== null && reason === rollbackText(rollback);
}

type Rollback = NonNullable<SyncSuspension['rolled_back_to']>;

/** The command that ends a suspension. */
export function resumeLine(
  cwd: string,
  { home, credentials, owner }: ServerOptions,
  workspace: string | null,
): string {
  const given: GivenOptions = { home, credentials, owner };
  return shellLine(cwd, 'resume', workspace === null ? [] : [workspace], given);
}

/** Converts a rejection by the server to a Failure: invalid or forbidden requests. */
export async function refusalAsFailure<T>(response: Promise<T>): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const kind = error.status === 403 || error.status === 409 ? 'refusedByGuard' : 'invalidInput';
    const place = `${error.param}: `;
    const isNamed = error.param === '' || error.message.includes(place);
    const message = `the server refuses: ${isNamed ? '' : place}${error.message}`;
    throw new Failure(kind, message, { cause: error });
  }
}

function subjectOf(owner: string, workspace: string | null): string {
  return workspace === null ? `owner ${owner}` : `owner ${owner}, workspace ${workspace}`;
}

function workspaceWord(): Option<string | undefined> {
  const word = optionalWord('Workspace by its name in manifests; the whole owner by default');
  const read = (given: readonly string[], name: string): string | undefined => {
    const [workspace] = given;
    if (workspace === undefined || managedNamePattern.test(workspace)) return workspace;
    const message = `${name} is ${quoted(workspace)}: expected ${managedNameForm}`;
    throw new Failure('invalidInput', message);
  };
  return { ...word, read };
}
