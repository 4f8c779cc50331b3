/** Defines the `get` command, which lists the resources of the server. */
import { dump } from 'js-yaml';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { liveManifest } from '../../sync/export/live-manifest.ts';
import type { LiveResource, LiveSet } from '../../sync/resources/resource-set.ts';
import type { Command } from '../shared/command.ts';
import { optionalWord, outputForm, workspaceOption } from '../shared/option.ts';
import { formatTable } from '../shared/table.ts';
import { type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { kindWord, readLive, selectResources } from './live-resources.ts';

type GetForm = 'text' | 'wide' | 'json' | 'yaml';

interface GetOptions extends Pick<ServerOptions, 'home' | 'credentials'> {
  readonly kind: KindName | undefined;
  readonly name: string | undefined;
  readonly workspace: readonly string[];
  readonly output: GetForm;
}

export const get: Command<GetOptions> = {
  examples: [
    ['gatewright get', 'All resources of the server'],
    ['gatewright get ApiKey --workspace support', 'The keys of one workspace'],
    ['gatewright get Config support-routing -o yaml', 'One resource as a manifest'],
  ],
  options: {
    kind: kindWord(`One of ${kindNames.join(', ')}; all by default`),
    name: optionalWord('Only this one: name, WORKSPACE/NAME, slug or id'),
    workspace: workspaceOption,
    output: outputForm(['text', 'wide', 'json', 'yaml'], 'Output format; yaml prints manifests'),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  run: async (options, io) => {
    const live = await readLive({ ...options, owner: undefined }, io);
    const found = selectResources(live, options);
    if (options.output === 'json') {
      io.stdout.writeJson({ resources: found.map((one) => resourceDocument(live, one)) });
    } else if (options.output === 'yaml') {
      const manifests = found.map((one) => manifestText(live, one));
      io.stdout.writeExact(manifests.join('---\n'));
    } else if (found.length === 0) io.stderr.write('no resources found\n');
    else io.stdout.write(tableOf(found, options));
    return 'success';
  },
};

/** The manifest of a resource and what the server adds to it. */
export function resourceDocument(live: LiveSet, resource: LiveResource): Record<string, unknown> {
  const { identity, id, slug, title, owner, version } = resource;
  return { ...identity, id, slug, title, owner, version, manifest: liveManifest(live, resource) };
}

export function manifestText(live: LiveSet, resource: LiveResource): string {
  return dump(liveManifest(live, resource), { lineWidth: 100, noRefs: true });
}

const none = '-';

function tableOf(found: readonly LiveResource[], { kind, output }: GetOptions): string {
  const isWide = output === 'wide';
  // The slug of an MCP server is its address at the gateway; refusals name guardrails by theirs.
  const showsSlug = isWide || kind === 'McpServer' || kind === 'Guardrail';
  const headings = [
    ...(kind === undefined ? ['KIND'] : []),
    'NAME',
    'WORKSPACE',
    'OWNER',
    ...(showsSlug ? ['SLUG'] : []),
    ...(isWide ? ['ID', 'VERSION', 'TITLE'] : []),
  ];
  const rows = found.map(({ identity, owner, slug, id, version, title }) => [
    ...(kind === undefined ? [identity.kind] : []),
    identity.name,
    identity.workspace ?? none,
    owner ?? none,
    ...(showsSlug ? [slug ?? none] : []),
    ...(isWide ? [id, String(version), title] : []),
  ]);
  return formatTable([headings, ...rows]);
}
