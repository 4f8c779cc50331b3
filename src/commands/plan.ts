/** Knows the command that shows what an apply would change, and changes nothing. */
import type { Ending } from '../failure.ts';
import { type CycleResult, reconcile } from '../sync/reconcile.ts';
import { markdownReport } from '../sync/report/markdown.ts';
import { textReport } from '../sync/report/text.ts';
import type { Command } from './shared/command.ts';
import { cycleDocument } from './shared/cycle-document.ts';
import { choices, flag, outputForm } from './shared/option.ts';
import {
  applyCommand,
  holderName,
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
} from './shared/options.ts';

const occasions = ['create', 'update', 'delete', 'replace', 'adopt', 'rotate', 'drift'] as const;
type Occasion = (typeof occasions)[number];

interface PlanOptions extends ManifestOptions {
  readonly output: 'text' | 'json' | 'markdown';
  readonly 'fail-on': readonly Occasion[];
  readonly 'no-prune': boolean;
  readonly 'take-ownership': boolean;
}

export const plan: Command<PlanOptions> = {
  summary: 'Show what apply would change; exit code 2 when there is something',
  examples: [
    ['gatewright plan', 'Compare the manifests of this folder with the server'],
    ['gatewright plan ./gateway -o markdown', 'The same as a comment for a pull request'],
    ['gatewright plan ./gateway --fail-on delete,replace', 'Exit code 2 for these only'],
    ['gatewright plan https://git.example.com/gw.git#main:prod -o json', 'A branch, for programs'],
  ],
  options: {
    ...manifestOptions,
    output: outputForm(['text', 'json', 'markdown'], 'Form of the plan'),
    'fail-on': choices(occasions, 'ACTION,..', {
      describe: `Exit with 2 for these only, of ${occasions.join(', ')}`,
      fallback: 'any change',
    }),
    'no-prune': flag('Leave on the server what left the source, instead of deleting it'),
    'take-ownership': flag('Take over what exists unmanaged or belongs to another owner'),
  },
  run: async (options, io) => {
    const manifests = openManifests(options, io);
    await using client = openClient(options, io);
    const result = await reconcile({
      client,
      readDesired: manifests.read,
      scope: manifests.scope,
      descent: manifests.descent,
      act: false,
      prune: !options['no-prune'],
      allowDeletes: null,
      isReleased: () => false,
      takeOwnership: options['take-ownership'],
      secretsFolder: manifests.secretsFolder,
      command: applyCommand({ ...options, output: 'text' }, io.cwd),
      holder: holderName('plan'),
      signal: io.signal,
    });
    if (options.output === 'json') io.stdout.writeJson(cycleDocument(result));
    else io.stdout.write(renderers[options.output](result));
    return endingFor(result, options['fail-on']);
  },
};

const renderers = { text: textReport, markdown: markdownReport } as const;

/** With `--fail-on`, changes that are not named pass. */
function endingFor(result: CycleResult, failOn: readonly Occasion[]): Ending {
  if (result.ending !== 'changesPresent' || failOn.length === 0) return result.ending;
  const named = new Set<string>(failOn);
  const isNamed = result.plan.changes.some(
    ({ action, fields }) =>
      named.has(action) || (named.has('drift') && fields.some((field) => field.reason === 'drift')),
  );
  return isNamed ? 'changesPresent' : 'success';
}
