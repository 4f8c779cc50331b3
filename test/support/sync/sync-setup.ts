/** Syncs YAML text with a real server and returns the cycle result. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../../src/secret.ts';
import type { CycleOptions, CycleResult } from '../../../src/sync/cycle/cycle-options.ts';
import { reconcile } from '../../../src/sync/cycle/reconcile.ts';
import { readDesired } from '../../../src/sync/desired/desired.ts';
import type { DesiredSet } from '../../../src/sync/resources/resource-set.ts';
import { AdminClient, type ClientOptions } from '../../../src/sync/server/client.ts';
import { digestOf, type SourceFile } from '../../../src/sync/source/source-files.ts';
import { startTestServer, type TestServer } from '../server/server.ts';
import { commandOf } from './sync-model.ts';

/** Values of the variables that test manifests name; none may ever be printed. */
export const canaries: Readonly<Record<string, string>> = {
  GW_VAR_CRM_TOKEN: 'canary-crm-4f1b9c',
  GW_VAR_OTHER_TOKEN: 'canary-other-77aa01',
};

/** Parses manifests; a string is one file. */
export async function desiredFrom(
  files: string | Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = canaries,
): Promise<DesiredSet> {
  const named = typeof files === 'string' ? { 'all.yaml': files } : files;
  const sourceFiles: SourceFile[] = Object.entries(named).map(([path, text]) => ({
    path,
    content: Buffer.from(text),
  }));
  const info = { repo: '/source', revision: null, digest: digestOf(sourceFiles) };
  const { set, faults } = await readDesired(
    { files: sourceFiles, faults: [], ignored: [], info, prefix: '' },
    {
      environment: (name) => environment[name],
      readValue: async () => undefined,
      requireSecrets: true,
    },
  );
  if (set === undefined) throw new Error(`faults in test manifests: ${JSON.stringify(faults)}`);
  return set;
}

/** A server with every feature that manifests can use. */
export function startSyncServer(): Promise<TestServer> {
  return startTestServer();
}

export interface SyncSetup extends AsyncDisposable {
  readonly secretsFolder: string;
  readonly client: AdminClient;
  /** A client with another owner or address, closed with the set-up. */
  openClient(options?: Partial<ClientOptions>): AdminClient;
  cycle(
    files: string | Readonly<Record<string, string>> | DesiredSet,
    options?: Partial<CycleOptions>,
  ): Promise<CycleResult>;
}

export function openSync(server: TestServer): SyncSetup {
  const secretsFolder = mkdtempSync(join(tmpdir(), 'gatewright-secrets-'));
  const clients: AdminClient[] = [];
  const openClient = (options: Partial<ClientOptions> = {}): AdminClient => {
    const client = new AdminClient({
      adminBaseUrl: server.url,
      baseUrl: `${server.url}/v1`,
      authUrl: server.url,
      tsgId: server.tsgId,
      clientId: server.clientId,
      clientSecret: new Secret(server.clientSecret, 'test'),
      owner: 'platform',
      clock: server.clock,
      pause: async () => undefined,
      ...options,
    });
    clients.push(client);
    return client;
  };
  const client = openClient();
  return {
    secretsFolder,
    client,
    openClient,
    cycle: async (files, options = {}) => {
      const set =
        typeof files === 'object' && 'resources' in files
          ? (files as DesiredSet)
          : await desiredFrom(files as string | Record<string, string>);
      return await reconcile({
        client,
        readDesired: async () => set,
        act: true,
        prune: true,
        allowDeletes: 1000,
        takeOwnership: false,
        secretsFolder,
        command: commandOf('gatewright apply .'),
        holder: 'a test',
        ...options,
      });
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clients.map((open) => open[Symbol.asyncDispose]()));
      rmSync(secretsFolder, { recursive: true, force: true });
    },
  };
}

/** A client that sends every change as a separate request, as for a server without change sets. */
export function withoutSets(client: AdminClient): AdminClient {
  const send = client.request.bind(client);
  client.request = async (request) => {
    const answer = await send(request);
    if (!request.path.includes('/gatewright/snapshot?') || answer.status !== 200) return answer;
    const { changes_max: _, ...body } = answer.body as Record<string, unknown>;
    return { ...answer, body };
  };
  return client;
}

/** Every kind once, with all sorts of references and secrets. */
export const everyKind = `
apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec:
  description: Customer support
  usageLimits: {creditLimit: 1000, alertThreshold: 800, periodicReset: monthly}
  rateLimits: [{type: requests, unit: rpm, value: 600}]
  defaults: {metadata: {team: cx}}
---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: short, workspace: support}
spec:
  checks: [{id: default.wordCount, parameters: {minWords: 1, maxWords: 200}}]
  actions: {deny: true, on_fail: {feedback: {value: -5, weight: 1, metadata: ''}}}
---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: tools, workspace: support}
spec:
  target: mcp_tools
  checks: [{id: default.contains, parameters: {words: [drop], operator: none}}]
---
apiVersion: gatewright.dev/v1
kind: Config
metadata: {name: routing, workspace: support}
spec:
  config:
    retry: {attempts: 3}
    input_guardrails: [{guardrailRef: short}]
    targets: [{provider: openai, weight: 1}]
    strategy: {mode: loadbalance}
---
apiVersion: gatewright.dev/v1
kind: ApiKey
metadata: {name: bot, workspace: support}
spec:
  scopes: [completions.write, mcp.invoke]
  rateLimits: [{type: requests, unit: rpm, value: 60}]
  usageLimits: {creditLimit: 500, alertThreshold: 400, periodicReset: monthly}
  defaults: {configRef: routing, allowConfigOverride: false, metadata: {app: bot}}
  alertEmails: [ops@example.com]
  expiresAt: 2028-03-31T00:00:00Z
  secretOutput: {file: {path: support/bot.key}}
---
apiVersion: gatewright.dev/v1
kind: McpIntegration
metadata: {name: crm, workspace: support}
spec:
  url: https://crm.example.com/mcp
  authType: headers
  transport: http
  configurations:
    custom_headers:
      Authorization: {valueFrom: {env: GW_VAR_CRM_TOKEN, prefix: 'Bearer '}}
---
apiVersion: gatewright.dev/v1
kind: McpServer
metadata: {name: crm-server, workspace: support}
spec: {mcpIntegrationRef: crm, description: CRM tools}
---
apiVersion: gatewright.dev/v1
kind: GuardrailMcpBinding
metadata: {name: tools-on-crm, workspace: support}
spec: {guardrailRef: tools, mcpServerRef: crm-server, runOn: [input]}
---
apiVersion: gatewright.dev/v1
kind: UsageLimitPolicy
metadata: {name: bot-budget, workspace: support}
spec:
  type: cost
  creditLimit: 12.5
  periodicReset: weekly
  conditions:
    - {key: api_key, apiKeyRef: bot}
    - {key: workspace_id, value: '*', excludes: [{workspaceRef: support}]}
  groupBy: [{key: api_key}]
`;

/** Singleton kinds; used together with {@link everyKind}, whose workspace they name. */
export const onlyOnes = `---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: everywhere}
spec:
  checks: [{id: default.wordCount, parameters: {maxWords: 1000}}]
  actions: {deny: true}
---
apiVersion: gatewright.dev/v1
kind: OrganisationDefaults
metadata: {name: default}
spec:
  inputGuardrails: [{guardrailRef: everywhere}]
  exportSettings: {deniedFields: [response, request]}
---
apiVersion: gatewright.dev/v1
kind: GuardrailExclusion
metadata: {name: default, workspace: support}
spec: {inputGuardrails: true}
---
apiVersion: gatewright.dev/v1
kind: WorkspaceGuardrails
metadata: {name: default, workspace: support}
spec: {inputGuardrails: [{guardrailRef: short}], outputGuardrails: [{guardrailRef: everywhere}]}
`;
