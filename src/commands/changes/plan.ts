/** Defines the `plan` command, which shows what `apply` would change. */
import { systemClock } from '../../clock.ts';
import { type Ending, Failure } from '../../failure.ts';
import type { CycleResult } from '../../sync/cycle/cycle-options.ts';
import { reconcile } from '../../sync/cycle/reconcile.ts';
import type { Impacts } from '../../sync/plan/impact.ts';
import { markdownReport } from '../../sync/report/markdown.ts';
import type { ReportableCycle } from '../../sync/report/summary.ts';
import { textParts } from '../../sync/report/text.ts';
import { identityKey } from '../../sync/resources/resource-set.ts';
import { readImpacts } from '../../sync/review/impact.ts';
import { savedPlanText, type Terms } from '../../sync/review/saved-plan.ts';
import type { AdminClient } from '../../sync/server/client.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  choicesOption,
  durationOption,
  outputForm,
  switchOption,
  textOption,
} from '../shared/option.ts';
import { outputFile } from '../shared/output-file.ts';
import { shellLine } from '../shared/shell-line.ts';
import { cycleDocument } from '../sources/cycle-document.ts';
import {
  applyCommand,
  locationsOf,
  type ManifestOptions,
  manifestOptions,
  openClient,
  openManifests,
  planCommand,
} from '../sources/manifest-options.ts';
import { writePlanFile } from '../sources/plan-file.ts';
import { type ReleaseOptions, releaseOptions, writingCycle } from '../sources/write-options.ts';
import { type PlanOnce, planBeyond } from './plan-base.ts';

const occasions = ['create', 'update', 'delete', 'replace', 'adopt', 'rotate', 'drift'] as const;
type Occasion = (typeof occasions)[number];

interface PlanOptions extends ManifestOptions, ReleaseOptions {
  readonly output: 'text' | 'wide' | 'json' | 'markdown';
  readonly base: string | undefined;
  readonly 'fail-on': readonly Occasion[];
  readonly out: string | undefined;
  readonly 'valid-for': number | undefined;
  readonly 'even-if-suspended': boolean;
  readonly 'accept-history': boolean;
}

/** Default validity of a saved plan. */
const validForSeconds = 24 * 3_600;

export const plan: Command<PlanOptions> = {
  examples: [
    ['gatewright plan', 'Compare the manifests of this folder with the server'],
    ['gatewright plan ./gateway -o markdown', 'Print the plan as a pull request comment'],
    [
      'gatewright plan ./gateway --base origin/main',
      'Show what this branch changes, without drift',
    ],
    ['gatewright plan ./gateway --fail-on delete,replace', 'Exit with 2 for these actions only'],
    [
      'gatewright plan https://git.example.com/gw.git#main:prod -o json',
      'Plan a branch, for programs',
    ],
    ['gatewright plan ./gateway --out gw.plan', 'Save the plan for gatewright apply gw.plan'],
  ],
  options: {
    ...manifestOptions,
    output: outputForm(['text', 'wide', 'json', 'markdown'], 'Output format of the plan'),
    base: textOption('REF', {
      describe: 'Show only changes beyond the manifests of this branch or commit',
      fallback: 'show all changes',
    }),
    'fail-on': choicesOption(occasions, 'ACTION,..', {
      describe: `Exit with 2 for these actions only, of ${occasions.join(', ')}`,
      fallback: 'any change',
    }),
    out: textOption('FILE', {
      describe: 'Save the plan to this file for `apply FILE`',
      fallback: 'not saved',
    }),
    'valid-for': durationOption(
      { min: 60, max: 30 * 24 * 3_600, example: '72h' },
      { describe: 'Validity of a saved plan', fallback: '24h' },
    ),
    ...releaseOptions({
      noPrune: 'Do not delete resources that were removed from the source',
      delete: 'Confirm the deletion of these workspaces, with their contents, and of keys in use',
    }),
    'even-if-suspended': switchOption('Also plan changes that `gatewright suspend` holds back'),
    'accept-history': switchOption(
      'Accept a source with another repository, history or environment than before',
    ),
  },
  conflicts: [['base', 'out']],
  run: async (options, io) => {
    const { out } = options;
    requireSaved(options);
    const file = out === undefined ? undefined : await outputFile('out', out, io.cwd);
    const manifests = openManifests(options, io);
    await using client = openClient(options, io);
    const planOnce: PlanOnce = (source) =>
      reconcile({
        ...writingCycle('plan', options, manifests, io),
        client,
        act: false,
        // A plan that is saved or compared needs all resources.
        looksAtOwnFirst: out === undefined && options.base === undefined,
        evenIfSuspended: options['even-if-suspended'],
        acceptHistory: options['accept-history'],
        descent: manifests.descent,
        command:
          out === undefined
            ? applyCommand({ ...options, output: 'text' }, io.cwd)
            : planCommand(options, out, io.cwd),
        ...source,
      });
    const cycle =
      options.base === undefined
        ? await planOnce({ readDesired: manifests.read })
        : await planBeyond(options, options.base, { planOnce, io });
    const result = { ...cycle, impacts: await readImpacts(client, cycle.plan, io.signal) };
    if (file !== undefined && result.refusal === null) {
      const { environment } = manifests;
      await save(file, result, client, { ...options, env: environment ?? undefined }, io);
    }
    if (options.output === 'json') io.stdout.writeJson(cycleDocument(result));
    else io.stdout.writeParts(renderers[options.output](result));
    return endingFor(result, options['fail-on']);
  },
};

function requireSaved({ out, 'valid-for': seconds }: PlanOptions): void {
  if (out !== undefined || seconds === undefined) return;
  const message = 'plan: --valid-for is for a plan that is saved: add --out FILE, or leave it out';
  throw new Failure('invalidInput', message);
}

/** Saves the plan unless a guard refuses it; planning again with the confirming option saves it. */
async function save(
  file: string,
  { plan: planned, read, warnings, impacts }: CycleResult & { readonly impacts: Impacts },
  { address: server }: AdminClient,
  options: PlanOptions,
  io: CommandIo,
): Promise<void> {
  const now = systemClock.now();
  const validMs = (options['valid-for'] ?? validForSeconds) * 1000;
  const terms: Terms = {
    paths: locationsOf(options),
    environment: options.env ?? null,
    workspace: [...options.workspace],
    noPrune: options['no-prune'],
    allowDeletes: options['allow-deletes'] ?? null,
    delete: options.delete.map(identityKey),
    takeOwnership: options['take-ownership'],
    evenIfSuspended: options['even-if-suspended'],
    acceptHistory: options['accept-history'],
  };
  const sealed = savedPlanText(planned, read, {
    server,
    terms,
    warnings,
    impacts,
    now,
    validMs,
  });
  await writePlanFile(file, sealed);
  const { out = file, home, credentials, owner, 'secrets-dir': folder } = options;
  const given = { home, credentials, owner, 'secrets-dir': folder };
  const until = new Date(now + validMs).toISOString();
  io.stderr.write(
    `Saved to ${out} until ${until}. To apply it: ${shellLine(io.cwd, 'apply', [out], given)}\n`,
  );
}

const renderers = {
  text: (result: ReportableCycle) => textParts(result),
  wide: (result: ReportableCycle) => textParts(result, { wide: true }),
  markdown: (result: ReportableCycle) => [markdownReport(result)],
} as const;

/** With `--fail-on`, other changes end with success. */
function endingFor(result: CycleResult, failOn: readonly Occasion[]): Ending {
  if (result.ending !== 'changesPresent' || failOn.length === 0) return result.ending;
  const named = new Set<string>(failOn);
  const isNamed = result.plan.changes.some(
    ({ action, fields }) =>
      named.has(action) || (named.has('drift') && fields.some((field) => field.reason === 'drift')),
  );
  return isNamed ? 'changesPresent' : 'success';
}
