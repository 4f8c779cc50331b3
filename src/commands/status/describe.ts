/** Defines the `describe` command, which shows everything about one resource of the server. */
import { Failure } from '../../failure.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import { findingText } from '../../model/mcp/definition-finding.ts';
import { describeSource } from '../../sync/plan/ownership.ts';
import { identityKey, type LiveResource, type LiveSet } from '../../sync/resources/resource-set.ts';
import { referencesIn } from '../../sync/resources/spec-paths.ts';
import type { Command } from '../shared/command.ts';
import { optionalWord, outputForm, refused, workspaceOption } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import { type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { manifestText, resourceDocument } from './get.ts';
import { kindWord, readLive, selectResources } from './live-resources.ts';

/** Lines of one definition. */
const changesMax = 20;

interface DescribeOptions extends Pick<ServerOptions, 'home' | 'credentials'> {
  readonly kind: KindName | undefined;
  readonly name: string | undefined;
  readonly workspace: readonly string[];
  readonly output: 'text' | 'json';
}

export const describe: Command<DescribeOptions> = {
  examples: [
    ['gatewright describe ApiKey support-bot', 'Owner, source, references and manifest of a key'],
    ['gatewright describe Config support/support-routing -o json', 'The same for programs'],
  ],
  options: {
    kind: kindWord('Kind of the resource'),
    name: optionalWord('Name, WORKSPACE/NAME, slug or id'),
    workspace: workspaceOption,
    output: outputForm(['text', 'json']),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  run: async (options, io) => {
    const { kind, name } = options;
    if (kind === undefined || name === undefined) {
      throw refused('which resource? gatewright describe KIND NAME; `gatewright get` lists them');
    }
    const live = await readLive({ ...options, owner: undefined }, io);
    const [resource, ...others] = selectResources(live, options);
    if (others.length > 0) throw ambiguous([resource!, ...others]);
    if (options.output === 'json') {
      const users = usersOf(live, resource!);
      const { definitions = [] } = resource!;
      io.stdout.writeJson({ ...resourceDocument(live, resource!), used_by: users, definitions });
    } else io.stdout.write(textOf(live, resource!));
    return 'success';
  },
};

function ambiguous(found: readonly LiveResource[]): Failure {
  const keys = found.map(({ identity, id }) => `${identityKey(identity)} (${id})`).join(', ');
  return new Failure('invalidInput', `several resources fit: ${keys}; name one by its id`);
}

function textOf(live: LiveSet, resource: LiveResource): string {
  const { identity, id, slug, title, owner, version, source, rotation } = resource;
  const users = usersOf(live, resource);
  const facts = [
    ['title', title],
    ['id', id],
    ...(slug === null ? [] : [['slug', slug]]),
    ['version', String(version)],
    ['owner', owner ?? 'none: no source manages it'],
    ...(source === null ? [] : [['declared in', describeSource(source)]]),
    ...(rotation === null ? [] : [['next rotation', rotation.next_rotation_at ?? 'none']]),
    ['used by', users.length === 0 ? 'nothing' : users.join(', ')],
  ];
  const { definitions = [] } = resource;
  const findings = definitions.map((one) => `${findingText(one, changesMax)}\n`).join('');
  const table = formatTable(facts.map(([name, fact]) => [`  ${name}`, fact!]));
  const manifest = manifestText(live, resource).replaceAll(/^(?=.)/gm, '  ');
  const attention = findings.replaceAll(/^(?=.)/gm, '  ');
  const notes = findings === '' ? '' : `\ndefinitions that need attention\n${attention}`;
  return `${identityKey(identity)}\n${table}${notes}\nmanifest, with all fields of the server\n${manifest}`;
}

/** Resources that refer to this one. */
function usersOf({ resources }: LiveSet, { identity }: LiveResource): string[] {
  const key = identityKey(identity);
  return resources
    .filter(({ spec }) => [...referencesIn(spec)].includes(key))
    .map((one) => identityKey(one.identity))
    .toSorted();
}
