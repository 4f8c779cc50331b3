/** Defines the `rollback` command, which applies an earlier revision again and suspends sync. */
/*
 * The commit of the revision is read again from the same repository and planned like any other. The
 * rolled-back scope is suspended before anything is written, because otherwise the daemon would apply
 * the newest commit again. That happens after `resume`.
 */
import { type Ending, Failure } from '../../failure.ts';
import type { SyncRevision } from '../../model/kinds/sync-record.ts';
import type { CycleResult } from '../../sync/cycle/cycle-options.ts';
import { reconcile } from '../../sync/cycle/reconcile.ts';
import type { Plan } from '../../sync/plan/plan-model.ts';
import { textParts } from '../../sync/report/text.ts';
import { readSourceText } from '../../sync/resources/applied-source.ts';
import { readImpacts } from '../../sync/review/impact.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import { createSuspension, readStanding } from '../../sync/server/sync-records.ts';
import { gitLocationAt } from '../../sync/source/git-location.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { type OptionTable, outputForm } from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import { confirm, requireTerminal } from '../sources/confirm.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import {
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
} from '../sources/manifest-options.ts';
import { type ApplyingOptions, writeOptions, writingCycle } from '../sources/write-options.ts';
import { requireRevision, revisionWord } from '../status/history.ts';
import { isOfRollback, refusalAsFailure, resumeLine, rollbackText } from '../status/suspend.ts';

interface RollbackOptions extends Omit<ManifestOptions, 'paths'>, ApplyingOptions {
  readonly revision: number | undefined;
  readonly output: 'text' | 'json';
}

const { paths: _, ...locationlessOptions } = manifestOptions;

const optionTable: OptionTable<RollbackOptions> = {
  revision: { ...revisionWord('Number of the revision to go back to'), isRequired: true },
  ...locationlessOptions,
  ...writeOptions({
    noPrune: 'Do not delete resources that the commit does not declare',
    delete:
      'Confirm the deletion of these workspaces with their contents, which the commit does not declare',
  }),
  output: outputForm(['text', 'json']),
};

export const rollback: Command<RollbackOptions> = {
  examples: [
    ['gatewright rollback 12', 'Show the plan, ask, suspend and apply it'],
    ['gatewright rollback 12 --yes --workspace support', 'Roll back one workspace, without asking'],
  ],
  options: optionTable,
  run: async (options, io) => {
    requireTerminal('rollback', options.yes, io);
    await using client = openClient(options, io);
    const revision = await requireRevision(client, options.revision!, io);
    // The environment of that revision is used unless --env overrides it.
    const { environment } = readSourceText(revision.source);
    const given = { ...options, env: options.env ?? environment ?? undefined };
    const location = locationOf(revision, io, given);
    return await new Rollback(client, given, io).run(revision, location);
  },
};

/** @throws Failure (invalid input) with an alternative when the files of the revision are not available */
function locationOf(revision: SyncRevision, io: CommandIo, given: RollbackOptions): string {
  const { number, commit } = revision;
  const { repo: source } = readSourceText(revision.source);
  if (/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(commit)) {
    return gitLocationAt(source, commit);
  }
  if (commit === 'none') {
    const message = `revision ${number} came from no source: it handed resources over one by one, \
which \`gatewright adopt\` and \`gatewright release\` take back`;
    throw new Failure('invalidInput', message);
  }
  const { home, credentials, owner, env } = given;
  const inForce = { home, credentials, owner, env };
  const apply = shellLine(io.cwd, 'apply', source.split(' '), inForce);
  throw new Failure(
    'invalidInput',
    `revision ${number} was applied from ${source}, which is not one Git repository: of its files only a \
digest is known.\nBring them back as they were, or keep them in Git from now on, and run: ${apply}`,
  );
}

class Rollback {
  readonly #client: AdminClient;
  readonly #options: RollbackOptions;
  readonly #io: CommandIo;
  /** The workspaces to suspend; null for the whole owner. */
  readonly #workspaces: readonly (string | null)[];
  #isSuspended = false;

  constructor(client: AdminClient, given: RollbackOptions, io: CommandIo) {
    this.#client = client;
    this.#options = given;
    this.#io = io;
    this.#workspaces = given.workspace.length === 0 ? [null] : given.workspace;
  }

  async run(revision: SyncRevision, location: string): Promise<Ending> {
    try {
      const result = await this.#reconcile(revision, location);
      this.#print(revision, result);
      return result.ending;
    } catch (error) {
      if (this.#isSuspended) this.#io.stderr.write(`${this.#resumeText()}\n`);
      throw error;
    }
  }

  async #reconcile(revision: SyncRevision, location: string): Promise<CycleResult> {
    const io = this.#io;
    const given = this.#options;
    const manifests = openManifests({ ...given, paths: [location] }, io);
    return await reconcile({
      ...writingCycle('rollback', given, manifests, io),
      client: this.#client,
      // Going back to an earlier commit during a suspension by an earlier rollback is intended.
      evenIfSuspended: true,
      acceptHistory: true,
      command: (more) => this.#commandWith(more),
      confirm: async (plan) =>
        (await this.#isConfirmed(plan, revision)) && (await this.#suspend(revision)),
    });
  }

  async #isConfirmed(plan: Plan, { number, commit }: SyncRevision): Promise<boolean> {
    if (this.#options.yes) return true;
    const question = `Go back to revision ${number} (${commit.slice(0, 12)}), and suspend ${this.#subject()}?`;
    const impacts = await readImpacts(this.#client, plan, this.#io.signal);
    return await confirm(plan, impacts, question, this.#io);
  }

  /** Keeps the reason of an existing suspension without end that somebody else created. */
  async #suspend({ number, commit }: SyncRevision): Promise<true> {
    const { suspensions } = await readStanding(this.#client, this.#io.signal);
    for (const workspace of this.#workspaces) {
      const rolled_back_to = { revision: number, commit };
      const lasting = suspensions.find((one) => one.workspace === workspace);
      const isTheirs = lasting?.until === null && !isOfRollback(lasting);
      const reason = isTheirs ? lasting.reason : rollbackText(rolled_back_to);
      const body = { owner: this.#client.owner, workspace, reason, rolled_back_to };
      await refusalAsFailure(createSuspension(this.#client, body, this.#io.signal));
    }
    this.#isSuspended = true;
    return true;
  }

  #print({ number, commit }: SyncRevision, result: CycleResult): void {
    const facts = { revision: number, commit, suspended: this.#isSuspended };
    if (this.#options.output === 'json') {
      const resume = this.#isSuspended ? this.#resumeLines() : [];
      this.#io.stdout.writeJson({ ...cycleDocument(result), rollback: { ...facts, resume } });
      return;
    }
    this.#io.stdout.writeParts(textParts(result));
    const { changes } = result.plan;
    if (this.#isSuspended) this.#io.stdout.write(`\n${this.#resumeText()}\n`);
    else if (changes.length === 0 && result.refusal === null) {
      this.#io.stdout.write(
        `The server already matches revision ${number}; nothing was suspended.\n`,
      );
    }
  }

  #resumeText(): string {
    const lines = this.#resumeLines().map((line) => `  ${line}`);
    return `${this.#subject()} is suspended so that the rollback stays in place. To sync the newest commit again:\n${lines.join('\n')}`;
  }

  #resumeLines(): string[] {
    return this.#workspaces.map((one) => resumeLine(this.#io.cwd, this.#options, one));
  }

  #subject(): string {
    const owner = `owner ${this.#client.owner}`;
    const { workspace } = this.#options;
    return workspace.length === 0 ? owner : `${owner}, workspace ${workspace.join(', ')}`;
  }

  /** This command with options that confirm held-back changes. */
  #commandWith(more: Readonly<Record<string, string | true>>): string {
    const given = this.#options;
    const { home, credentials, owner, env, yes } = given;
    const workspace = given.workspace.length === 0 ? undefined : given.workspace;
    const inForce = {
      home,
      credentials,
      owner,
      env,
      yes,
      workspace,
      'secrets-dir': given['secrets-dir'],
      'no-prune': given['no-prune'],
      'take-ownership': given['take-ownership'],
    };
    return shellLine(this.#io.cwd, 'rollback', [String(given.revision)], { ...inForce, ...more });
  }
}
