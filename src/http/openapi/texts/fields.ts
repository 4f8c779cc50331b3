/** States the usual meaning of fields and parameters by their names. */
import { fieldTexts } from './field-texts.ts';
import { recordTexts } from './record-texts.ts';

/** Texts of parameters whose names mean something else in bodies, or occur in no body. */
const parameterTexts: Readonly<Record<string, string>> = {
  key: 'Key of the metadata.',
  value: 'Value to compare with.',
  number: 'Number of the revision.',
  limit: 'Number of servers on a page, 1 to 100.',
  updated_since: 'Only servers that changed after this time, RFC 3339.',
  guardrails: 'Ids or slugs of guardrails that judged the requests, separated by commas.',
  include_total: 'Accepted for clients that send it; `total` is returned in any case.',
  dimension: 'Property by which requests are grouped.',
  group: 'Property by which requests are grouped.',
  graph: 'Figure that the graph shows.',
  part: 'Second part of the name of the graph.',
  chart: 'Figure that the chart shows.',
  view: '`whole` for everything, `own` without what other owners declare.',
  named: 'Ids and slugs to include with `view=own`, separated by commas.',
  expires: 'Time at which the link expires, in milliseconds since 1970.',
  signature: 'Signature of the link.',
  sub_type: '`service` or `user`.',
  type: 'Kind of the objects.',
  id: 'Ids, separated by commas.',
  status: 'State of the objects.',
  version: 'Version: a number, an id, a label, `latest` or `default`.',
  enabled: 'Only objects that are enabled, or are not.',
  metadata: 'JSON object with a value, or a list of values, for each key.',
  role: 'Role of the people.',
  name: 'Part of the name, in any case; in a path the whole name.',
};

function underscored(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** Null for a name without a usual meaning. */
export function fieldText(name: string): string | null {
  const word = underscored(name);
  return fieldTexts[name] ?? fieldTexts[word] ?? recordTexts[name] ?? recordTexts[word] ?? null;
}

/** As {@link fieldText}, for a parameter of a path or query. */
export function parameterText(name: string): string | null {
  return parameterTexts[underscored(name)] ?? fieldText(name);
}

/** Describes the id at the end of `/v2/api-keys/{id}`: by the word before it. */
export function pathIdText(path: string, name: string): string {
  const words = path.split('/');
  const before = words[words.indexOf(`{${name}}`) - 1] ?? '';
  if (path.includes('/scim/workspaces/')) return 'Identifies the mapping of a group, by id.';
  const noun = nouns[before] ?? before.replaceAll('-', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `Identifies the ${noun}.`;
}

const nouns: Readonly<Record<string, string>> = {
  'api-keys': 'API key, by id',
  collections: 'collection, by id or slug',
  configs: 'config, by id or slug',
  deployments: 'deployment, by id or slug',
  entities: 'counter, by id',
  exports: 'log export, by id',
  groups: 'group, by id',
  Groups: 'group, by id',
  guardrails: 'guardrail, by id or slug',
  integrations: 'integration, by id or slug',
  invites: 'invite, by id',
  labels: 'label, by id',
  leases: 'owner of the lease, by name',
  logs: 'model request, by id',
  'mcp-integrations': 'MCP integration, by id or slug',
  'mcp-servers': 'MCP server, by id or slug',
  organisations: 'organisation, by id or tenant service group id',
  partials: 'partial, by id or slug, with a version after an @',
  pricing: 'service, by slug',
  prompts: 'prompt, by id or slug, with a version after an @',
  providers: 'provider, by id or slug',
  'rate-limits': 'rate-limit policy, by id',
  revisions: 'revision, by number',
  ResourceTypes: 'resource type, by name',
  Schemas: 'schema, by URN',
  scopes: 'named set of resources, by name',
  'secret-references': 'secret reference, by id or slug',
  sessions: 'session, by id',
  'usage-limits': 'usage-limit policy, by id',
  users: 'person, by id',
  Users: 'person, by id',
  versions: 'version: a number, an id, a label, `latest` or `default`',
  'virtual-keys': 'virtual key, by id or slug',
  workspaces: 'workspace, by id or slug',
};
