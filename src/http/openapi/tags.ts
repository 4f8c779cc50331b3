/** Groups the operations of the OpenAPI document by subject, one tag for each. */

export interface TagDescription {
  readonly name: string;
  readonly description: string;
}

/** Subjects with the first words of their paths, after version and `admin`. */
const subjects: readonly (TagDescription & { readonly words: readonly string[] })[] = [
  {
    name: 'Access',
    description: 'Access tokens, sessions and access policies.',
    words: ['oauth2', 'iam', 'session', 'sign-in'],
  },
  {
    name: 'Organisation',
    description: 'Settings and defaults of the organisation.',
    words: ['organisation', 'organisations', 'service-accounts', 'tsgs'],
  },
  {
    name: 'People',
    description: 'Users, invitations, members, and provisioning by SCIM.',
    words: ['users', 'scim'],
  },
  {
    name: 'Workspaces',
    description: 'Workspaces with their members, settings, budgets and guardrails.',
    words: ['workspaces'],
  },
  {
    name: 'API keys',
    description: 'Keys with which services and people call the gateway.',
    words: ['api-keys'],
  },
  {
    name: 'Configs',
    description: 'Routing documents: providers, retries, caching, guardrails.',
    words: ['configs'],
  },
  {
    name: 'Guardrails',
    description: 'Checks on requests, responses and tool calls, and exclusions from them.',
    words: ['guardrails', 'guardrail-exclusions', 'workspace-exclusions', 'plugins'],
  },
  {
    name: 'Policies',
    description: 'Budgets and rate limits for the requests that their conditions select.',
    words: ['policies'],
  },
  {
    name: 'Providers',
    description: 'Accounts at model providers, their models, prices and use by workspaces.',
    words: ['integrations', 'providers', 'virtual-keys', 'model-configs', 'utils'],
  },
  {
    name: 'Secrets',
    description: 'References to values in secret managers.',
    words: ['secret-references'],
  },
  {
    name: 'MCP',
    description: 'MCP integrations, servers, their capabilities and their registry.',
    words: ['mcp-integrations', 'mcp-servers', 'servers'],
  },
  {
    name: 'Prompts',
    description: 'Prompts with versions, partials, labels and collections.',
    words: ['prompts', 'labels', 'collections'],
  },
  {
    name: 'Deployments',
    description: 'Gateways that register with this control plane.',
    words: ['deployments'],
  },
  {
    name: 'Logs',
    description: 'The request log, its exports, feedback, analytics, and the audit log.',
    words: ['logs', 'audit-logs', 'analytics', 'feedback'],
  },
  {
    name: 'Sync',
    description: 'Snapshots, change sets, leases and status for the sync of manifests.',
    words: ['gatewright'],
  },
  {
    name: 'Inference',
    description: 'Requests that the gateway forwards to providers of models.',
    words: [],
  },
  {
    name: 'Stored objects',
    description: 'Files, responses, threads and other objects that providers or the gateway store.',
    words: [],
  },
  {
    name: 'Server',
    description: 'Probes, metrics and this document.',
    words: ['livez', 'readyz', 'startupz', 'metrics', 'openapi.json'],
  },
];

export const tagDescriptions: readonly TagDescription[] = subjects.map(({ name, description }) => ({
  name,
  description,
}));

/** The tag of a path; null when no subject lists it. */
export function tagOf(path: string): string | null {
  const word = path.split('/').find((part) => part !== '' && !/^(?:v\d.*|admin)$/.test(part));
  return subjects.find(({ words }) => words.includes(word ?? ''))?.name ?? null;
}
