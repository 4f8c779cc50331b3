/** Knows what each kind is for, and the least that a manifest of it says. */
import type { KindName } from '../../model/kinds/kinds.ts';

/** A reference in a minimal spec, by the key that it stands under. */
interface NeededReference {
  readonly field: string;
  readonly kind: KindName;
  /** Where the field is a list: the key under which the one item of it names the other. */
  readonly itemField?: string;
  /** What the other must say to be referred to from here. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface KindNote {
  readonly meaning: string;
  /** Whether the least of it is in a workspace, where it need not be. */
  readonly isUsuallyPlaced: boolean;
  /** The least that `validate` takes, and what nearly everyone wants; references are apart. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly references: readonly NeededReference[];
}

const none = { isUsuallyPlaced: false, references: [] } as const;

export const kindNotes: Readonly<Record<KindName, KindNote>> = {
  Workspace: {
    ...none,
    meaning: 'A team with its own keys, configs and budget.',
    spec: { description: 'What the workspace is for' },
  },
  Guardrail: {
    ...none,
    meaning: 'Checks on requests to models or on calls of MCP tools, and what follows from them.',
    spec: {
      checks: [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }],
      actions: { deny: true },
    },
  },
  Config: {
    ...none,
    meaning: 'A routing document: which provider answers, retries, caching, guardrails.',
    spec: { config: { retry: { attempts: 3 } } },
  },
  ApiKey: {
    ...none,
    meaning: 'A key that services or people call the gateway with.',
    spec: { scopes: ['completions.write'] },
  },
  SecretReference: {
    ...none,
    meaning: 'Where a value lies in a secret manager, and how the gateway signs in there.',
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
    meaning: 'A budget for the requests that some conditions hold of, counted apart by group.',
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
    meaning: 'How often requests that some conditions hold of may be made, counted apart by group.',
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
    meaning: 'A name that versions of prompts bear, such as the stage that they are for.',
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
    meaning: 'What holds in every workspace: guardrails, and what no export of the log may hold.',
    spec: { exportSettings: { deniedFields: ['response'] } },
  },
  GuardrailExclusion: {
    meaning: 'Lets a workspace go without the guardrails of the organisation.',
    isUsuallyPlaced: true,
    spec: { outputGuardrails: true },
    references: [],
  },
  WorkspaceGuardrails: {
    meaning: 'The guardrails that hold on every request of a workspace.',
    isUsuallyPlaced: true,
    spec: {},
    references: [{ field: 'inputGuardrails', kind: 'Guardrail', itemField: 'guardrailRef' }],
  },
  Deployment: {
    ...none,
    meaning: 'A gateway that the organisation runs: where it answers, and for whom.',
    spec: { authSettings: { gatewayBaseUrl: 'https://gateway.example.com' } },
  },
  ScimMapping: {
    meaning: 'Makes the people of a group of the directory members of a workspace.',
    isUsuallyPlaced: true,
    spec: { scimGroupName: 'Support', role: 'member' },
    references: [],
  },
};
