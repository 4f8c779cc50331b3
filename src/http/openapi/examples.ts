/** Gives examples of bodies; each is valid by the schema of its operation. */

/** By method and path below the mount; `inference` before the path of an endpoint of the gateway. */
const examples: Readonly<Record<string, unknown>> = {
  'POST /oauth2/access_token': {
    grant_type: 'client_credentials',
    scope: 'tsg_id:1234567890',
  },
  'POST /iam/v1/access_policies': {
    principal: 'ann@example.com',
    resource: 'prn:1234567890::::',
    role: 'view_only_admin',
  },
  'POST /admin/users/invites': { email: 'ann@example.com', role: 'member' },
  'POST /scim/workspaces': {
    workspace_id: 'ws-suppor-1a2b3c',
    scim_group_name: 'support',
    role: 'member',
  },
  'POST /scim/v2/Users': {
    userName: 'ann@example.com',
    name: { givenName: 'Ann', familyName: 'Ace' },
    active: true,
  },
  'PATCH /scim/v2/Users/{id}': {
    Operations: [{ op: 'replace', path: 'active', value: false }],
  },
  'POST /scim/v2/Groups': { displayName: 'support' },
  'POST /admin/workspaces': { name: 'Support', description: 'Answers customers' },
  'POST /workspaces': { name: 'Support', description: 'Answers customers' },
  'POST /configs': {
    name: 'fallback',
    config: {
      strategy: { mode: 'fallback' },
      targets: [{ provider: '@large' }, { provider: '@small' }],
    },
  },
  'POST /api-keys/{type}/{subType}': {
    name: 'support-bot',
    scopes: ['completions.write'],
    workspace_id: 'ws-suppor-1a2b3c',
  },
  'POST /guardrails': {
    name: 'no passwords',
    checks: [{ id: 'default.contains', parameters: { words: ['password'], operator: 'none' } }],
    actions: { deny: true },
  },
  'POST /policies/rate-limits': {
    name: 'each key',
    conditions: [{ key: 'workspace_id', value: 'ws-suppor-1a2b3c' }],
    group_by: [{ key: 'api_key' }],
    type: 'requests',
    unit: 'rpm',
    value: 60,
  },
  'POST /policies/usage-limits': {
    name: 'each team',
    conditions: [{ key: 'workspace_id', value: 'ws-suppor-1a2b3c' }],
    group_by: [{ key: 'metadata.team' }],
    type: 'cost',
    credit_limit: 100,
    periodic_reset: 'monthly',
  },
  'POST /integrations': { name: 'OpenAI', ai_provider_id: 'openai', key: 'sk-…' },
  'POST /providers': {
    name: 'large',
    slug: 'large',
    integration_id: 'openai-1a2b3c',
    workspace_id: 'ws-suppor-1a2b3c',
  },
  'POST /feedback': { trace_id: 'trace-1', value: 5 },
  'POST /gatewright/changes': {
    mode: 'atomic',
    changes: [
      {
        kind: 'Config',
        action: 'create',
        label: 'routing',
        body: { name: 'routing', config: {} },
      },
    ],
  },
  'POST inference /chat/completions': {
    model: '@large/gpt-4o',
    messages: [{ role: 'user', content: 'hello' }],
  },
  'POST inference /completions': { model: 'gpt-3.5-turbo-instruct', prompt: 'Once' },
  'POST inference /embeddings': { model: 'text-embedding-3-small', input: 'hello' },
  'POST inference /messages': {
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hello' }],
  },
  'POST inference /responses': { model: 'gpt-4o', input: 'hello' },
};

/** Null for an operation without an example. */
export function bodyExample(method: string, path: string): unknown {
  return examples[`${method} ${path}`] ?? null;
}
