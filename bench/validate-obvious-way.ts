/** Validates in the obvious way for comparison: the `yaml` package with a line counter, then zod. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineCounter, parseAllDocuments } from 'yaml';
import { z } from 'zod';

const Envelope = z.strictObject({
  apiVersion: z.literal('gatewright.dev/v1'),
  kind: z.enum(['Workspace', 'Config', 'Guardrail', 'ApiKey']),
  metadata: z.strictObject({
    name: z.string(),
    workspace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.unknown(),
});

const specs = {
  Workspace: z.strictObject({ name: z.string(), description: z.string().optional() }),
  Config: z.strictObject({ name: z.string(), config: z.record(z.string(), z.unknown()) }),
  Guardrail: z.strictObject({
    name: z.string(),
    target: z.enum(['llm', 'mcp_tools']),
    checks: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        isEnabled: z.boolean(),
        parameters: z.record(z.string(), z.unknown()),
      }),
    ),
    actions: z.record(z.string(), z.unknown()),
  }),
  ApiKey: z.strictObject({
    type: z.enum(['workspace', 'organisation']),
    subType: z.enum(['service', 'user']),
    description: z.string(),
    scopes: z.array(z.string()).min(1),
    rateLimits: z.array(
      z.strictObject({
        type: z.enum(['requests', 'tokens']),
        unit: z.enum(['rpd', 'rph', 'rpm', 'rps', 'rpw']),
        value: z.int().min(0),
      }),
    ),
    usageLimits: z.strictObject({
      type: z.enum(['cost', 'tokens']),
      creditLimit: z.number().min(1),
      alertThreshold: z.number(),
      periodicReset: z.enum(['weekly', 'monthly']),
    }),
    defaults: z.strictObject({
      configRef: z.string(),
      allowConfigOverride: z.boolean(),
      metadata: z.record(z.string(), z.string()),
    }),
    alertEmails: z.array(z.email()),
    expiresAt: z.iso.datetime({ offset: true }),
  }),
};

let count = 0;
for (const entry of readdirSync(process.argv[2]!, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
  for (const document of parseAllDocuments(text, { lineCounter: new LineCounter() })) {
    if (!('toJS' in document)) continue;
    const { kind, spec } = Envelope.parse(document.toJS());
    specs[kind].parse(spec);
    count += 1;
  }
}
process.stdout.write(`${count}\n`);
