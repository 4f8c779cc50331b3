/** Generates manifests of typical size, in any number, for measurements. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const filesPerFolder = 100;

/**
 * Writes `documentCount` API keys, configs, guardrails and their 20 workspaces, with references between
 * them. Each document has about 40 lines and 1 kB; a folder holds 100 files. A different `prefix` gives
 * different names.
 */
export function writeDocuments(
  folder: string,
  documentCount: number,
  { documentsPerFile = 5, prefix = '' } = {},
): void {
  mkdirSync(folder, { recursive: true });
  const write = (path: string, documents: readonly string[]): void => {
    const text = documents.join('---\n');
    const prefixed = text.replaceAll(/\b(?:team|routing|words|service)-\d/g, `${prefix}$&`);
    writeFileSync(path, prefixed);
  };
  const workspaces = Array.from({ length: 20 }, (_, at) => workspace(at));
  write(join(folder, 'workspaces.yaml'), workspaces);
  const documents = Array.from({ length: documentCount - workspaces.length }, (_, at) =>
    at % 5 === 0 ? config(at) : at % 5 === 1 ? guardrail(at) : apiKey(at),
  );
  for (let file = 0; file * documentsPerFile < documents.length; file += 1) {
    const parent = join(folder, `team-${Math.floor(file / filesPerFolder)}`);
    mkdirSync(parent, { recursive: true });
    const start = file * documentsPerFile;
    write(join(parent, `resources-${file}.yaml`), documents.slice(start, start + documentsPerFile));
  }
}

/** Indexes divisible by 5 are configs; the guardrail and the keys that follow refer to that config. */
function workspaceOf(at: number): number {
  return Math.floor(at / 5) % 20;
}

function envelope(kind: string, name: string, workspaceNumber: number | null): string {
  const workspaceLine = workspaceNumber === null ? '' : `  workspace: team-${workspaceNumber}\n`;
  return `# Managed by the platform team; see the handbook before changing anything.
apiVersion: gatewright.dev/v1
kind: ${kind}
metadata:
  name: ${name}
${workspaceLine}  labels:
    team: platform
    tier: "2"
`;
}

function workspace(at: number): string {
  return `${envelope('Workspace', `team-${at}`, null)}spec:
  name: Team ${at}
  description: Everything that team ${at} runs in production.
`;
}

function config(at: number): string {
  return `${envelope('Config', `routing-${at}`, workspaceOf(at))}spec:
  name: Routing ${at}
  config:
    strategy:
      mode: fallback
      on_status_codes:
        - 429
        - 500
        - 503
    retry:
      attempts: 3
      on_status_codes: [429, 503]
    cache:
      mode: simple
      max_age: 3600
    request_timeout: 30000
    input_guardrails:
      - guardrailRef: words-${at + 1}
    targets:
      - provider: openai
        weight: 0.7
        override_params:
          model: gpt-4o-mini
          temperature: 0.2
          max_tokens: 1024
      - provider: anthropic
        weight: 0.3
        override_params:
          model: claude-3-5-haiku-latest
          max_tokens: 1024
`;
}

function guardrail(at: number): string {
  return `${envelope('Guardrail', `words-${at}`, workspaceOf(at))}spec:
  name: Words ${at}
  target: llm
  checks:
    - id: default.wordCount
      name: size
      isEnabled: true
      parameters:
        minWords: 1
        maxWords: 4000
    - id: default.contains
      name: forbidden words
      isEnabled: true
      parameters:
        words:
          - confidential
          - internal use only
        operator: none
  actions:
    deny: true
    async: false
    on_success:
      feedback:
        value: 5
        weight: 1
        metadata: ok
    on_fail:
      feedback:
        value: -5
        weight: 1
        metadata: refused
`;
}

function apiKey(at: number): string {
  return `${envelope('ApiKey', `service-${at}`, workspaceOf(at))}spec:
  type: workspace
  subType: service
  description: Key of service ${at}, rotated by its owners.
  scopes:
    - completions.write
    - mcp.invoke
    - logs.view
  rateLimits:
    - type: requests
      unit: rpm
      value: 600
    - type: tokens
      unit: rpd
      value: 2000000
  usageLimits:
    type: cost
    creditLimit: 500
    alertThreshold: 400
    periodicReset: monthly
  defaults:
    configRef: routing-${at - (at % 5)}
    allowConfigOverride: false
    metadata:
      application: service-${at}
      costCenter: cx-210
  alertEmails:
    - oncall@example.com
    - platform@example.com
  expiresAt: 2032-03-31T00:00:00Z
`;
}
