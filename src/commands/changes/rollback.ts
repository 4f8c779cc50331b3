/** Knows the command that brings back what an earlier revision had applied, and keeps it so. */
/*
 * The commit of the revision is read anew from the same repository and planned like any other. What is
 * rolled back is suspended before anything is written, because the daemon would bring the newest commit
 * again; who resumes wants exactly that.
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
import { requireTerminal, confirm } from '../sources/confirm.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import {
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
} from '../sources/manifest-options.ts';
import { type WriteOptions, writeOptions, writingCycle } from '../sources/write-options.ts';
import { requireRevision, revisionWord } from '../status/history.ts';
import { isOfRollback, refusalAsFailure, resumeLine, rollbackText } from '../status/suspend.ts';

interface RollbackOptions extends Omit<ManifestOptions, 'paths'>, WriteOptions {
  readonly revision: number | undefined;
  readonly output: 'text' | 'json';
}

const { paths: _, ...placeOptions } = manifestOptions;

const options: OptionTable<RollbackOptions> = {
  revision: { ...revisionWord('Number of the revision to go back to'), isRequired: true },
  ...placeOptions,
  ...writeOptions({
    noPrune: 'Leave on the server what that commit does not have, instead of deleting it',
    delete: 'Delete these workspaces, too, which that commit does not have, with what is in them',
  }),
  output: outputForm(['text', 'json']),
};

export const rollback: Command<RollbackOptions> = {
  examples: [
    ['gatewright rollback 12', 'Show the plan, ask, suspend and apply it'],
    ['gatewright rollback 12 --yes --workspace support', 'Of one workspace, without asking'],
  ],
  options,
  run: async (asked, io) => {
    requireTerminal('rollback', asked.yes, io);
    await using client = openClient(asked, io);
    const revision = await requireRevision(client, asked.revision!, io);
    // It is the environment of then that is gone back to.
    const { environment } = readSourceText(revision.source);
    const given = { ...asked, env: asked.env ?? environment ?? undefined };
    const location = locationOf(revision, io, given);
    return await new Rollback(client, given, io).run(revision, location);
  },
};

/** @throws Failure (invalid input) for what is kept nowhere, with what to do instead */
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
  /** Those that are suspended; null for the whole owner. */
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
      this.#tell(revision, result);
      return result.ending;
    } catch (error) {
      if (this.#isSuspended) this.#io.stderr.write(`${this.#goOn()}\n`);
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
      // An earlier commit is meant, and so is a pause that an earlier rollback has made.
      evenIfSuspended: true,
      acceptHistory: true,
      command: (more) => this.#again(more),
      confirm: async (plan) =>
        (await this.#isMeant(plan, revision)) && (await this.#pause(revision)),
    });
  }

  async #isMeant(plan: Plan, { number, commit }: SyncRevision): Promise<boolean> {
    if (this.#options.yes) return true;
    const question = `Go back to revision ${number} (${commit.slice(0, 12)}), and suspend ${this.#subject()}?`;
    const impacts = await readImpacts(this.#client, plan, this.#io.signal);
    return await confirm(plan, impacts, question, this.#io);
  }

  /** The reason of one that somebody else has made without an end stays: theirs is the better one. */
  async #pause({ number, commit }: SyncRevision): Promise<true> {
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

  #tell({ number, commit }: SyncRevision, result: CycleResult): void {
    const facts = { revision: number, commit, suspended: this.#isSuspended };
    if (this.#options.output === 'json') {
      const resume = this.#isSuspended ? this.#resumeLines() : [];
      this.#io.stdout.writeJson({ ...cycleDocument(result), rollback: { ...facts, resume } });
      return;
    }
    this.#io.stdout.writeParts(textParts(result));
    const { changes } = result.plan;
    if (this.#isSuspended) this.#io.stdout.write(`\n${this.#goOn()}\n`);
    else if (changes.length === 0 && result.refusal === null) {
      this.#io.stdout.write(`The server is as revision ${number} says; nothing was suspended.\n`);
    }
  }

  #goOn(): string {
    const lines = this.#resumeLines().map((line) => `  ${line}`);
    return `${this.#subject()} is suspended, so that this stays. To sync the newest commit again:\n${lines.join('\n')}`;
  }

  #resumeLines(): string[] {
    return this.#workspaces.map((one) => resumeLine(this.#io.cwd, this.#options, one));
  }

  #subject(): string {
    const owner = `owner ${this.#client.owner}`;
    const { workspace } = this.#options;
    return workspace.length === 0 ? owner : `${owner}, workspace ${workspace.join(', ')}`;
  }

  /** This command with what releases the rest. */
  #again(more: Readonly<Record<string, string | true>>): string {
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
