/** Finds resources on the server by the words of a command line. */
import { Failure } from '../../failure.ts';
import { type KindName, kindNames, kinds } from '../../model/kinds/kinds.ts';
import { didYouMean } from '../../suggest.ts';
import type { LiveResource, LiveSet } from '../../sync/resources/resource-set.ts';
import { readSnapshot, toLiveSet } from '../../sync/server/live.ts';
import type { CommandIo } from '../shared/command.ts';
import { type Option, quoted, refused } from '../shared/option.ts';
import { openClient, type ServerOptions } from '../sources/manifest-options.ts';
import { refusalAsFailure } from './suspend.ts';

/** Reads all resources that manifests can declare. */
export async function readLive(options: ServerOptions, io: CommandIo): Promise<LiveSet> {
  await using client = openClient(options, io);
  const read = await refusalAsFailure(readSnapshot(client, null, io.signal));
  return toLiveSet(read, client.owner, []);
}

/** `[kind]`: `ApiKey`, and for convenience `apikey`, `api-key` and `api-keys`. */
export function kindWord(describe: string): Option<KindName | undefined> {
  const read = ([given]: readonly string[], name: string): KindName | undefined => {
    if (given === undefined) return undefined;
    const word = plainWord(given);
    const found = kindNames.find(
      (kind) => plainWord(kind) === word || plainWord(kinds[kind].plural) === word,
    );
    if (found !== undefined) return found;
    const hint = didYouMean(given, kindNames) ?? `kinds are ${kindNames.join(', ')}`;
    throw refused(`${name} takes a kind, not ${quoted(given)}; ${hint}`);
  };
  return { form: 'word', placeholder: '', describe, suggestions: kindNames, read };
}

function plainWord(word: string): string {
  return word.replaceAll('-', '').toLowerCase();
}

/** Which resources a command shows. */
export interface ResourceFilter {
  readonly kind: KindName | undefined;
  /** Name, WORKSPACE/NAME, slug, id or title. */
  readonly name: string | undefined;
  /** Names or slugs of workspaces; empty for all. */
  readonly workspace: readonly string[];
}

/** In the order of kinds, workspaces and names. @throws Failure (invalid input) when `name` names nothing */
export function selectResources(live: LiveSet, filter: ResourceFilter): LiveResource[] {
  const { kind, name, workspace } = filter;
  const within = live.resources.filter(
    ({ identity }) =>
      (kind === undefined || identity.kind === kind) &&
      (workspace.length === 0 || workspace.includes(identity.workspace ?? '')),
  );
  const found = name === undefined ? within : within.filter((one) => wordsFor(one).includes(name));
  if (name !== undefined && found.length === 0) {
    const known = within.map(({ identity }) => identity.name);
    const hint =
      didYouMean(name, known) ??
      `gatewright get${kind === undefined ? '' : ` ${kind}`} lists what exists`;
    throw new Failure(
      'invalidInput',
      `the server has no ${kind ?? 'resource'} ${quoted(name)}: ${hint}`,
    );
  }
  return found.toSorted((one, two) => (sortKey(one) < sortKey(two) ? -1 : 1));
}

function wordsFor({ identity, id, slug, title }: LiveResource): (string | null)[] {
  const { workspace, name } = identity;
  return [name, `${workspace}/${name}`, id, slug, title];
}

function sortKey({ identity: { kind, workspace, name } }: LiveResource): string {
  const at = String(kindNames.indexOf(kind)).padStart(3, '0');
  return [at, workspace ?? '', name].join('\0');
}
