/** Defines the `guardrails` command, which judges a corpus by the guardrails of manifests and tells what would change. */
import { resolve } from 'node:path';
import { systemClock } from '../../clock.ts';
import { type Ending, Failure } from '../../failure.ts';
import type { GuardrailDefinition } from '../../guardrails/guardrail.ts';
import { GuardrailModel } from '../../guardrails/models/guardrail-model.ts';
import { ModelChecks } from '../../guardrails/models/model-checks.ts';
import { RemoteChecks } from '../../guardrails/remote/remote-checks.ts';
import { Searches } from '../../guardrails/searches.ts';
import type { GuardrailActions } from '../../model/guardrails/guardrail.ts';
import { liveManifest } from '../../sync/export/live-manifest.ts';
import { composedManifests } from '../../sync/manifest/composed.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { Origins } from '../../upstream/origins.ts';
import { Outbound } from '../../upstream/outbound.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import {
  durationOption,
  environmentOption,
  outputForm,
  positionalWords,
  requiredChoice,
  switchOption,
  textOption,
} from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { checkOffline, offlineVariables, readOffline } from '../sources/offline-source.ts';
import { sourceFailure } from '../sources/valid-part.ts';
import { readLive } from '../status/live-resources.ts';
import { readCorpus } from './corpus.ts';
import {
  compareWithLog,
  type LiveGuardrail,
  loggedText,
  readLoggedVerdicts,
} from './logged-verdicts.ts';
import { type EntryChange, type Replay, replay, type Versions } from './replay.ts';

interface GuardrailsOptions extends Pick<ServerOptions, 'home' | 'credentials'> {
  readonly action: 'test';
  /** A corpus and manifests; with `since` manifests only. */
  readonly paths: readonly string[];
  readonly guardrail: string | undefined;
  readonly before: string | undefined;
  readonly live: boolean;
  /** Seconds. */
  readonly since: number | undefined;
  readonly remote: boolean;
  readonly model: string | undefined;
  readonly env: string | undefined;
  readonly output: 'text' | 'json';
}

export const guardrails: Command<GuardrailsOptions> = {
  examples: [
    ['gatewright guardrails test requests.jsonl gateway', 'Verdicts of each guardrail on a corpus'],
    [
      'gatewright guardrails test requests.jsonl gateway --live',
      'What would change against the guardrails of the server; exits with 2 if something would',
    ],
    [
      'gatewright guardrails test requests.jsonl gateway --before ../main/gateway',
      'What would change against other manifests',
    ],
    [
      'gatewright guardrails test --since 7d gateway',
      'What other actions would have done with the verdicts in the log',
    ],
  ],
  options: {
    action: requiredChoice(['test'], 'test'),
    paths: positionalWords(
      'A corpus, then folders, files or Git URLs with manifests; with --since manifests only. A corpus is a ' +
        'file with one JSON object a line: a request, a response, or a text',
      'the manifests of the current folder',
    ),
    guardrail: textOption('NAME', {
      describe: 'Only this guardrail: NAME or WORKSPACE/NAME',
      fallback: 'all that judge models',
    }),
    before: textOption('PATH', {
      describe: 'Compare with the guardrails of these manifests',
      fallback: 'no comparison',
    }),
    live: switchOption('Compare with the guardrails of the server'),
    since: durationOption(
      { min: 3_600, max: 366 * 86_400, example: '7d' },
      {
        describe: 'Read the verdicts of this time from the log, in place of a corpus',
        fallback: 'a corpus',
      },
    ),
    remote: switchOption('Let checks call other services, such as webhooks, with the corpus'),
    model: textOption('FOLDER', {
      describe: 'Let the model in this folder judge, as GATEWRIGHT_GUARDRAIL_MODEL_DIR does',
      fallback: 'checks by a model are not run',
    }),
    env: environmentOption,
    output: outputForm(['text', 'json']),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  conflicts: [
    ['before', 'live'],
    ['before', 'since'],
    ['remote', 'since'],
    ['model', 'since'],
  ],
  run: async (options, io) => {
    if (options.since !== undefined) return compareLogged(options, options.since, io);
    const [named, ...paths] = options.paths;
    if (named === undefined) {
      const message = 'guardrails test: name a corpus, or a time with --since 7d';
      throw new Failure('invalidInput', message);
    }
    const corpus = await readCorpus(resolve(io.cwd, named), named);
    const selected = await selectedGuardrails(paths, options, io);
    const before = await earlierGuardrails(options, io);
    const replays = await replayAll(
      selected.map(([name, one]) => ({ name, after: one, before: before?.get(name) ?? null })),
      corpus,
      options,
      io,
    );
    if (options.output === 'json') io.stdout.writeJson({ guardrails: replays });
    else io.stdout.write(replays.map(textOf).join('\n'));
    return endingOf(replays);
  },
};

function endingOf(compared: readonly { readonly changes: readonly unknown[] | null }[]): Ending {
  const isChanged = compared.some(({ changes }) => (changes?.length ?? 0) > 0);
  return isChanged ? 'changesPresent' : 'success';
}

/** Compares with the verdicts that the server has logged. */
async function compareLogged(
  options: GuardrailsOptions,
  sinceSeconds: number,
  io: CommandIo,
): Promise<Ending> {
  const selected = await selectedGuardrails(options.paths, options, io);
  const live = await liveGuardrails(options, io);
  await using client = openClient({ ...options, owner: undefined }, io);
  const from = systemClock.now() - sinceSeconds * 1_000;
  const logged = await readLoggedVerdicts(client, from, io.signal);
  const compared = selected.map(([name, after]) =>
    compareWithLog({ name, after, live: live.get(name) ?? null }, logged),
  );
  if (options.output === 'json') io.stdout.writeJson({ guardrails: compared });
  else io.stdout.write(compared.map(loggedText).join('\n'));
  return endingOf(compared);
}

/** @throws Failure (invalid input) when nothing is selected */
async function selectedGuardrails(
  paths: readonly string[],
  options: GuardrailsOptions,
  io: CommandIo,
): Promise<[string, GuardrailDefinition][]> {
  const found = await guardrailsIn(paths, options, io);
  const selected = [...found].filter(([name]) => isSelected(name, options.guardrail));
  if (selected.length === 0) throw nothingSelected(options.guardrail);
  return selected;
}

/** Checks judge here as in a gateway, in this process. */
async function replayAll(
  versions: readonly Versions[],
  corpus: Awaited<ReturnType<typeof readCorpus>>,
  { remote, model: folder }: GuardrailsOptions,
  io: CommandIo,
): Promise<Replay[]> {
  const trusted: TrustedHosts = [];
  using searches = new Searches();
  await using origins = new Origins(trusted);
  using model = folder === undefined ? null : openModel(resolve(io.cwd, folder), folder);
  const outbound = new Outbound(origins, trusted);
  const sources = [new RemoteChecks({ outbound, accounts: null }), new ModelChecks(model)];
  const tools = { searches, outbound, sources };
  const terms = { tools, callsServices: remote, hasModel: model !== null, signal: io.signal };
  const replays: Replay[] = [];
  for (const one of versions) replays.push(await replay(one, corpus, terms));
  return replays;
}

function openModel(folder: string, named: string): GuardrailModel {
  try {
    return new GuardrailModel(folder);
  } catch (cause) {
    throw new Failure('invalidInput', `--model ${named}: ${(cause as Error).message}`, { cause });
  }
}

type Definitions = ReadonlyMap<string, GuardrailDefinition>;

/** By `WORKSPACE/NAME`, or `NAME` for a guardrail of the organisation. */
async function guardrailsIn(
  paths: readonly string[],
  { env }: Pick<GuardrailsOptions, 'env'>,
  io: CommandIo,
): Promise<Definitions> {
  const files = await readOffline(paths, env, io);
  const checked = await checkOffline(files, io.cwd, null);
  if (checked.faults.length > 0) throw sourceFailure(checked.faults);
  const manifests = await composedManifests(files, await offlineVariables(files, io.cwd));
  return new Map(
    manifests
      .filter(({ kind, absent }) => kind === 'Guardrail' && !absent)
      .flatMap(({ name, workspace, spec }) => definitionIn(nameOf(workspace, name), spec)),
  );
}

async function earlierGuardrails(
  options: GuardrailsOptions,
  io: CommandIo,
): Promise<Definitions | null> {
  if (options.before !== undefined) return guardrailsIn([options.before], options, io);
  if (!options.live) return null;
  const live = await liveGuardrails(options, io);
  return new Map([...live].map(([name, { definition }]) => [name, definition]));
}

async function liveGuardrails(
  options: GuardrailsOptions,
  io: CommandIo,
): Promise<ReadonlyMap<string, LiveGuardrail>> {
  const live = await readLive({ ...options, owner: undefined }, io);
  return new Map(
    live.resources
      .filter(({ identity }) => identity.kind === 'Guardrail')
      .flatMap((resource) => {
        const { workspace, name } = resource.identity;
        const { spec } = liveManifest(live, resource) as { spec: Record<string, unknown> };
        return definitionIn(nameOf(workspace, name), spec).map(
          ([key, definition]) => [key, { id: resource.id, definition }] as const,
        );
      }),
  );
}

function nameOf(workspace: string | null, name: string): string {
  return workspace === null ? name : `${workspace}/${name}`;
}

/** None for a guardrail of MCP tools, whose calls a corpus of requests does not contain. */
function definitionIn(
  id: string,
  { target, checks, actions }: Readonly<Record<string, unknown>>,
): [string, GuardrailDefinition][] {
  if (target === 'mcp_tools') return [];
  const written = (checks ?? []) as readonly WrittenCheck[];
  const definition = {
    id,
    savedId: null,
    checks: written.map(({ id: check, parameters, isEnabled = true }) => ({
      id: check,
      is_enabled: isEnabled,
      parameters,
    })),
    actions: (actions ?? {}) as GuardrailActions,
  };
  return [[id, definition]];
}

interface WrittenCheck {
  readonly id: string;
  readonly isEnabled?: boolean;
  readonly parameters?: Record<string, unknown>;
}

function isSelected(name: string, wanted: string | undefined): boolean {
  return wanted === undefined || name === wanted || name.endsWith(`/${wanted}`);
}

function nothingSelected(wanted: string | undefined): Failure {
  const message =
    wanted === undefined
      ? 'no guardrail with target llm is declared here'
      : `--guardrail ${wanted}: no guardrail with target llm of this name is declared here`;
  return new Failure('invalidInput', message);
}

/** Changes that are listed by line. */
const listedMax = 20;

function textOf({ name, entries, verdicts, unjudged, skippedChecks, changes }: Replay): string {
  const { passed, changed, failed, denied } = verdicts;
  const figures = `${passed} pass, ${changed} pass changed, ${failed} fail, ${denied} are denied`;
  const lines = [`${name}: of ${entries} entries ${figures}`];
  if (unjudged > 0) lines.push(`  ${unjudged} have a check that cannot judge`);
  if (skippedChecks.length > 0) {
    lines.push(`  not run: ${skippedChecks.join(', ')}`);
  }
  if (changes !== null) lines.push(`  ${changes.length} would change`);
  const rows = (changes ?? []).slice(0, listedMax).map(rowOf);
  const more = (changes?.length ?? 0) - rows.length;
  const rest = more > 0 ? `  and ${more} more; -o json lists all\n` : '';
  return `${lines.join('\n')}\n${rows.length === 0 ? '' : formatTable(rows)}${rest}`;
}

function rowOf({ line, before, after }: EntryChange): string[] {
  return [`    line ${line}`, `${before} → ${after}`];
}
