/** Describes each kind and its minimal manifest. */
import type { KindName } from '../../model/kinds/kinds.ts';

/** A reference in a minimal spec, by its key. */
interface NeededReference {
  readonly field: string;
  readonly kind: KindName;
  /** For a list: the key in its item that names the other resource. */
  readonly itemField?: string;
  /** Fields that the referenced resource needs. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface KindNote {
  readonly meaning: string;
  /** Whether the minimal manifest has a workspace although it is optional. */
  readonly isUsuallyPlaced: boolean;
  /**
   * The minimum that `validate` accepts plus what nearly everyone wants; references are separate.
   */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly references: readonly NeededReference[];
  /** Whether the minimal manifest states its name as slug, because the slug is part of an address. */
  readonly hasAddress?: boolean;
}

const none = { isUsuallyPlaced: false, references: [] } as const;

export const kindNotes: Readonly<Record<KindName, KindNote>> = {
  Workspace: {
    ...none,
    meaning: 'A team with its own keys, configs and budget.',
    spec: { description: 'Purpose of the workspace' },
  },
  Guardrail: {
    ...none,
    meaning: 'Checks on model requests and responses or on MCP tool calls, and their consequences.',
    spec: {
      checks: [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }],
      actions: { deny: true },
    },
  },
  Config: {
    ...none,
    meaning: 'A routing document: providers, retries, caching, guardrails.',
    spec: { config: { retry: { attempts: 3 } } },
  },
  ApiKey: {
    ...none,
    meaning: 'A key with which services or people call the gateway.',
    spec: { scopes: ['completions.write'] },
  },
  SecretReference: {
    ...none,
    meaning: 'A value in a secret manager, and how the gateway authenticates there.',
    spec: {
      managerType: 'hashicorp_vault',
      authConfig: {
        vaultAuthType: 'kubernetes',
        vaultAddr: 'https://vault.example.com:8200',
        vaultRole: 'gateway',
      },
      secretPath: 'secret/data/openai',
    },
  },
  McpIntegration: {
    ...none,
    meaning: 'An MCP server that the gateway may call: its address and its credentials.',
    spec: { url: 'https://mcp.example.com/mcp', authType: 'none', transport: 'http' },
  },
  McpServer: {
    meaning: 'An MCP integration as a workspace uses it.',
    isUsuallyPlaced: true,
    hasAddress: true,
    spec: {},
    references: [{ field: 'mcpIntegrationRef', kind: 'McpIntegration' }],
  },
  GuardrailMcpBinding: {
    ...none,
    meaning: 'Puts a guardrail on the tools of an MCP server.',
    spec: { runOn: ['input', 'output'] },
    references: [
      { field: 'guardrailRef', kind: 'Guardrail', spec: { target: 'mcp_tools' } },
      { field: 'mcpServerRef', kind: 'McpServer' },
    ],
  },
  UsageLimitPolicy: {
    meaning: 'A budget for the requests that match its conditions, counted by group.',
    isUsuallyPlaced: true,
    spec: {
      conditions: [{ key: 'model', value: '*' }],
      groupBy: [{ key: 'api_key' }],
      type: 'cost',
      creditLimit: 100,
      periodicReset: 'monthly',
    },
    references: [],
  },
  RateLimitPolicy: {
    meaning: 'A rate limit for the requests that match its conditions, counted by group.',
    isUsuallyPlaced: true,
    spec: {
      conditions: [{ key: 'model', value: '*' }],
      groupBy: [{ key: 'api_key' }],
      type: 'requests',
      unit: 'rpm',
      value: 60,
    },
    references: [],
  },
  Integration: {
    ...none,
    meaning: 'An account at a provider of models: its key, its models, and who may use it.',
    spec: { aiProviderId: 'openai' },
  },
  Provider: {
    meaning: 'An integration as a workspace uses it, with a budget of its own.',
    isUsuallyPlaced: true,
    spec: {},
    references: [{ field: 'integrationRef', kind: 'Integration' }],
  },
  PromptLabel: {
    ...none,
    meaning: 'A label for prompt versions, such as a stage.',
    spec: {},
  },
  PromptCollection: {
    meaning: 'A folder of prompts in a workspace.',
    isUsuallyPlaced: true,
    spec: {},
    references: [],
  },
  PromptPartial: {
    ...none,
    meaning: 'A part that prompts share and include by its slug.',
    spec: { slug: 'tone', string: 'Answer in one sentence.' },
  },
  Prompt: {
    meaning: 'A template of a request for a model, with versions.',
    isUsuallyPlaced: true,
    spec: { string: 'Say hello to {{name}}.', model: 'gpt-4o' },
    references: [],
  },
  OrganisationDefaults: {
    ...none,
    meaning: 'Defaults of every workspace: guardrails, and fields excluded from log exports.',
    spec: { exportSettings: { deniedFields: ['response'] } },
  },
  GuardrailExclusion: {
    meaning: 'Exempts a workspace from the guardrails of the organisation.',
    isUsuallyPlaced: true,
    spec: { outputGuardrails: true },
    references: [],
  },
  WorkspaceGuardrails: {
    meaning: 'The guardrails for every request of a workspace.',
    isUsuallyPlaced: true,
    spec: {},
    references: [{ field: 'inputGuardrails', kind: 'Guardrail', itemField: 'guardrailRef' }],
  },
  Deployment: {
    ...none,
    meaning: 'A gateway that the organisation runs: its address, and whom it serves.',
    spec: { authSettings: { gatewayBaseUrl: 'https://gateway.example.com' } },
  },
  ScimMapping: {
    meaning: 'Makes the people of a group of the directory members of a workspace.',
    isUsuallyPlaced: true,
    spec: { scimGroupName: 'Support', role: 'member' },
    references: [],
  },
  ServiceAccount: {
    ...none,
    meaning: 'A client of the Admin API, with roles; its secret is delivered like that of a key.',
    spec: { roles: ['view_only_admin'] },
  },
  TenantServiceGroup: {
    ...none,
    meaning: 'A child tenant, with accounts and resources of its own.',
    spec: { description: 'Purpose of the tenant' },
  },
};
