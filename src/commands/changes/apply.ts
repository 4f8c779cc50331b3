/** Defines the `apply` command, which makes the server match the manifests. */
import { writeFile } from 'node:fs/promises';
import { systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { readSettings } from '../../settings.ts';
import type { CycleOptions, CycleResult } from '../../sync/cycle/cycle-options.ts';
import { reconcile } from '../../sync/cycle/reconcile.ts';
import type { Plan } from '../../sync/plan/plan-model.ts';
import { textParts } from '../../sync/report/text.ts';
import { readImpacts } from '../../sync/review/impact.ts';
import type { SavedPlan } from '../../sync/review/saved-plan.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import type { SourceVersion } from '../../sync/source/source-files.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { RunHeap } from '../shared/heap.ts';
import { outputForm, positionalWords, switchOption, textOption } from '../shared/option.ts';
import { outputFile } from '../shared/output-file.ts';
import { Progress } from '../shared/progress.ts';
import { confirm, requireTerminal } from '../sources/confirm.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import {
  applyCommand,
  locationsOf,
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
} from '../sources/manifest-options.ts';
import { readPlanFile } from '../sources/plan-file.ts';
import { type ApplyingOptions, writeOptions, writingCycle } from '../sources/write-options.ts';
import { readAnnouncements } from '../sync/announcements.ts';
import { withCommitStatuses } from '../sync/commit-status-of-run.ts';
import { savedCycle } from './apply-plan.ts';

interface ApplyOptions extends ManifestOptions, ApplyingOptions {
  readonly 'even-if-suspended': boolean;
  readonly 'accept-history': boolean;
  readonly atomic: boolean;
  readonly report: string | undefined;
  readonly 'commit-status': boolean;
  readonly output: 'text' | 'json';
}

export const apply: Command<ApplyOptions> = {
  examples: [
    ['gatewright apply ./gateway', 'Show the plan, ask, and apply it'],
    ['gatewright apply ./gateway --yes --report r.json', 'In CI, with a report of every change'],
    [
      'gatewright apply ./gateway --yes --no-prune',
      'Do not delete resources removed from the source',
    ],
    ['gatewright apply ./gateway --yes --allow-deletes 40', 'Confirm a large prune'],
    ['gatewright apply ./gateway --delete Workspace/old', 'Confirm the deletion of a workspace'],
    ['gatewright apply gw.plan --yes', 'Apply a plan saved by plan --out, if it is still valid'],
  ],
  options: {
    ...manifestOptions,
    paths: positionalWords(
      `${manifestOptions.paths.describe}; or the file of a saved plan`,
      'the current folder',
    ),
    ...writeOptions({
      noPrune: 'Do not delete resources that were removed from the source',
      delete: 'Confirm the deletion of these workspaces, with their contents, and of keys in use',
    }),
    'even-if-suspended': switchOption('Also apply changes that `gatewright suspend` holds back'),
    'accept-history': switchOption(
      'Accept a source with another repository, history or environment than before',
    ),
    atomic: switchOption('Apply all changes in one transaction, or none'),
    report: textOption('FILE', { describe: 'Write a JSON report of the changes to this file' }),
    'commit-status': switchOption(
      'Report the result as a commit status to the host of a Git source',
    ),
    output: outputForm(['text', 'json']),
  },
  run: async (options, io) => {
    const { report } = options;
    requireTerminal('apply', options.yes, io);
    const reportPath = report === undefined ? null : await outputFile('report', report, io.cwd);
    await using client = openClient(options, io);
    const saved = await readPlanFile(options.paths, io.cwd);
    const withCommitStatus = commitStatusRunner(options, saved, client, io);
    using heap = new RunHeap();
    const progress = new Progress(io.stderr, options.output, systemClock);
    const run = async (): Promise<CycleResult> =>
      await reconcile({
        ...(saved === undefined
          ? newCycle(options, io, heap)
          : await savedCycle(saved, options, client, io)),
        client,
        isAtomic: options.atomic,
        onItem: (_, reached) => progress.report(reached),
        ...(options.yes ? {} : { confirm: (plan: Plan) => isMeant(client, plan, io) }),
      }).finally(() => progress.end());
    const cycle = await withCommitStatus(run);
    const result = saved === undefined ? cycle : withStaleEnding(cycle);
    if (reportPath !== null) await writeReport(reportPath, cycleDocument(result));
    if (options.output === 'json') io.stdout.writeJson(cycleDocument(result));
    else io.stdout.writeParts(textParts(result));
    return result.ending;
  },
};

type RunWithStatus = (run: () => Promise<CycleResult>) => Promise<CycleResult>;

/** @throws Failure (invalid input) for --commit-status without a token */
function commitStatusRunner(
  options: ApplyOptions,
  saved: SavedPlan | undefined,
  { owner }: AdminClient,
  io: CommandIo,
): RunWithStatus {
  if (!options['commit-status']) return (run) => run();
  const settings = readSettings(undefined, { cwd: io.cwd });
  if (settings.sync.commitStatus === undefined) {
    const message =
      '--commit-status: set GATEWRIGHT_COMMIT_STATUS_TOKEN to a token of the Git host that may write statuses';
    throw new Failure('invalidInput', message);
  }
  const paths = saved?.saved.terms.paths ?? options.paths;
  const locations = locationsOf({ paths });
  const announcements = readAnnouncements(settings, { owner, locations, cwd: io.cwd });
  const newest = async (): Promise<SourceVersion> =>
    saved === undefined
      ? await openManifests(options, io).newest()
      : { digest: null, revision: saved.source.sha };
  return (run) => withCommitStatuses({ announcements, owner, newest, io }, run);
}

/** A saved plan is stale, and not retryable, after others have changed its resources. */
function withStaleEnding(result: CycleResult): CycleResult {
  const isStale = result.report?.items.some(({ status }) => status === 'stale') === true;
  return isStale && result.ending === 'retryable' ? { ...result, ending: 'stale' } : result;
}

async function isMeant(client: AdminClient, plan: Plan, io: CommandIo): Promise<boolean> {
  return await confirm(plan, await readImpacts(client, plan, io.signal), 'Apply this?', io);
}

function newCycle(
  options: ApplyOptions,
  io: CommandIo,
  heap: RunHeap,
): Omit<CycleOptions, 'client'> {
  const manifests = openManifests(options, io, (bytes) => heap.makeReady(bytes));
  return {
    ...writingCycle('apply', options, manifests, io),
    copies: manifests.copies,
    looksAtOwnFirst: true,
    evenIfSuspended: options['even-if-suspended'],
    acceptHistory: options['accept-history'],
    descent: manifests.descent,
    command: applyCommand(options, io.cwd),
  };
}

async function writeReport(path: string, document: unknown): Promise<void> {
  try {
    await writeFile(path, `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `the changes are made, but the report cannot be written to ${path} (${code})`;
    throw new Failure('unexpected', message, { cause: error });
  }
}
