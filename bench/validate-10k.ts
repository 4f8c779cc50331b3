/** Knows what `validate` of 10,000 documents costs beside parsing them alone and beside the obvious way. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { interleave, type Member, type Row, ratioRows } from './harness.ts';

const main = resolve(import.meta.dirname, '../dist/main.js');
const parserAlone = resolve(import.meta.dirname, 'validate-parser-alone.ts');
const obviousWay = resolve(import.meta.dirname, 'validate-obvious-way.ts');

const documentCount = 10_000;
const documentsPerFile = 5;
const filesPerFolder = 100;

export const member: Member = {
  name: 'validate of 10,000 documents, built',
  run: async (): Promise<Row[]> => {
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-bench-'));
    try {
      writeDocuments(folder);
      const node = (name: string, ...args: string[]) => ({ name, command: process.execPath, args });
      const result = interleave(
        [
          node('validate', main, 'validate', folder),
          node('parser alone', parserAlone, folder),
          node('yaml and zod', obviousWay, folder),
        ],
        5,
        1,
      );
      return [
        ...ratioRows(result, 'against yaml and zod', 'validate', 'yaml and zod', 0.2),
        ...ratioRows(result, 'against js-yaml alone', 'validate', 'parser alone', null),
        { metric: 'share of the machine used by others', ratio: result.neighbourShare, aim: null },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Keys, configs and guardrails of twenty workspaces, about 40 lines and 1 kB each, with references. */
function writeDocuments(folder: string): void {
  const workspaces = Array.from({ length: 20 }, (_, at) => workspace(at));
  writeFileSync(join(folder, 'workspaces.yaml'), workspaces.join('---\n'));
  const documents = Array.from({ length: documentCount - workspaces.length }, (_, at) =>
    at % 5 === 0 ? config(at) : at % 5 === 1 ? guardrail(at) : apiKey(at),
  );
  for (let file = 0; file * documentsPerFile < documents.length; file += 1) {
    const parent = join(folder, `team-${Math.floor(file / filesPerFolder)}`);
    mkdirSync(parent, { recursive: true });
    const start = file * documentsPerFile;
    const text = documents.slice(start, start + documentsPerFile).join('---\n');
    writeFileSync(join(parent, `resources-${file}.yaml`), text);
  }
}

/** Documents at multiples of five are configs; the guardrail after each and the keys after it refer to it. */
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
      - provider: '@openai-main'
        weight: 0.7
        override_params:
          model: gpt-4o-mini
          temperature: 0.2
          max_tokens: 1024
      - provider: '@anthropic-backup'
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
