/** Knows the command that makes the server match the manifests. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Plan } from '../sync/plan/planned.ts';
import { reconcile } from '../sync/reconcile.ts';
import { textReport } from '../sync/report/text.ts';
import { type Identity, identityKey } from '../sync/spec/resource-set.ts';
import type { Command } from './shared/command.ts';
import { assertAskable, confirm } from './shared/confirm.ts';
import { cycleDocument } from './shared/cycle-document.ts';
import { flag, outputForm, text, wholeNumber } from './shared/option.ts';
import {
  applyCommand,
  holderName,
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
} from './shared/options.ts';
import { Progress } from './shared/progress.ts';
import { resourceNames } from './shared/resource-names.ts';

interface ApplyOptions extends ManifestOptions {
  readonly yes: boolean;
  readonly 'no-prune': boolean;
  readonly 'allow-deletes': number | undefined;
  readonly delete: readonly Identity[];
  readonly 'take-ownership': boolean;
  readonly 'even-if-suspended': boolean;
  readonly 'accept-history': boolean;
  readonly report: string | undefined;
  readonly output: 'text' | 'json';
}

export const apply: Command<ApplyOptions> = {
  summary: 'Make the server match the manifests',
  examples: [
    ['gatewright apply ./gateway', 'Show the plan, ask, and apply it'],
    ['gatewright apply ./gateway --yes --report r.json', 'In CI, with a report of every change'],
    ['gatewright apply ./gateway --yes --no-prune', 'Delete nothing that left the source'],
    ['gatewright apply ./gateway --yes --allow-deletes 40', 'Release a large prune'],
    ['gatewright apply ./gateway --delete Workspace/old', 'Release the removal of a workspace'],
  ],
  options: {
    ...manifestOptions,
    yes: flag('Do not ask; needed where no terminal is', 'y'),
    'no-prune': flag('Leave on the server what left the source, instead of deleting it'),
    'allow-deletes': wholeNumber(
      'COUNT',
      { min: 0, max: 1_000_000, example: 12 },
      {
        describe: 'Release a prune of up to this many resources',
        fallback: 'one, or a fifth of what the owner has',
      },
    ),
    delete: resourceNames('Delete these workspaces, with all in them, and keys in use'),
    'take-ownership': flag('Take over what exists unmanaged or belongs to another owner'),
    'even-if-suspended': flag('Write also what `gatewright suspend` holds back'),
    'accept-history': flag('Take a source whose repository or history is not that of before'),
    report: text('FILE', { describe: 'Write what was done to this JSON file' }),
    output: outputForm(['text', 'json']),
  },
  run: async (options, io) => {
    assertAskable('apply', options.yes, io);
    const manifests = openManifests(options, io);
    const named = new Set(options.delete.map(identityKey));
    await using client = openClient(options, io);
    const progress = new Progress(io.stderr, options.output, systemClock);
    const result = await reconcile({
      client,
      readDesired: manifests.read,
      scope: manifests.scope,
      act: true,
      prune: !options['no-prune'],
      allowDeletes: options['allow-deletes'] ?? null,
      isReleased: (id) => named.has(id),
      takeOwnership: options['take-ownership'],
      evenIfSuspended: options['even-if-suspended'],
      acceptHistory: options['accept-history'],
      descent: manifests.descent,
      secretsFolder: manifests.secretsFolder,
      command: applyCommand(options, io.cwd),
      holder: holderName('apply'),
      onWait: (message) => io.stderr.write(`${message}\n`),
      onItem: (_, reached) => progress.tell(reached),
      signal: io.signal,
      ...(options.yes ? {} : { confirm: (plan: Plan) => confirm(plan, 'Apply this?', io) }),
    }).finally(() => progress.end());
    const document = cycleDocument(result);
    if (options.report !== undefined) await writeReport(resolve(io.cwd, options.report), document);
    if (options.output === 'json') io.stdout.writeJson(document);
    else io.stdout.write(textReport(result));
    return result.ending;
  },
};

async function writeReport(path: string, document: unknown): Promise<void> {
  try {
    await writeFile(path, `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const message = `the changes are made, but the report cannot be written to ${path} (${code})`;
    throw new Failure('unexpected', message, { cause: error });
  }
}
