/** Knows the schema of every kind's spec, and loads that of a kind when the first of it is met. */
import { z } from 'zod';
import type { ApiKeySubType, ApiKeyType } from './api-key.ts';
import { HotSchema } from './hot-schema.ts';
import type { KindName } from './kinds.ts';

/**
 * The create body of the Admin API for a kind, strict; what a manifest's spec must parse to once
 * converted. An issue of its own may carry `params.candidates`: the words that would have been right.
 */
export async function loadBody(kind: KindName): Promise<z.ZodObject> {
  return (await loadHotBody(kind)).plain;
}

/** As {@link loadBody}, for whoever asks it about every manifest of a source. */
export async function loadHotBody(kind: KindName): Promise<HotSchema<z.ZodObject>> {
  const known = bodies.get(kind);
  if (known !== undefined) return known;
  const body = new HotSchema(await loaders[kind]());
  bodies.set(kind, body);
  return body;
}

const bodies = new Map<KindName, HotSchema<z.ZodObject>>();

/** Each schema costs time to make, and few sources have manifests of every kind. */
const loaders: Readonly<Record<KindName, () => Promise<z.ZodObject>>> = {
  Workspace: async () => (await import('./workspace.ts')).WorkspaceCreate.strict(),
  Guardrail: async () => (await import('./guardrail.ts')).GuardrailCreate.strict(),
  Config: async () => (await import('./config.ts')).ConfigCreate.strict(),
  ApiKey: loadApiKey,
  McpIntegration: async () => (await import('./mcp-integration.ts')).McpIntegrationCreate.strict(),
  McpServer: async () => (await import('./mcp-server.ts')).McpServerCreate.strict(),
  GuardrailMcpBinding: loadGuardrailMcpBinding,
  UsageLimitPolicy: loadUsageLimitPolicy,
};

async function loadApiKey(): Promise<z.ZodObject> {
  const { ApiKeyCreate, ApiKeySubType, ApiKeyType } = await import('./api-key.ts');
  const { allScopes, isKnownScope } = await import('./scopes.ts');
  return ApiKeyCreate.omit({ organisation_id: true })
    .extend({ type: ApiKeyType, sub_type: ApiKeySubType })
    .strict()
    .superRefine((key, ctx) => {
      apiKeyRules(key, ctx);
      key.scopes.forEach((scope, at) => {
        if (isKnownScope(scope)) return;
        const params = { candidates: allScopes };
        const path = ['scopes', at];
        ctx.addIssue({ code: 'custom', path, message: 'is not a known scope', params });
      });
    });
}

interface ApiKeyTerms {
  readonly type: ApiKeyType;
  readonly sub_type: ApiKeySubType;
  readonly workspace_id?: string | undefined;
  readonly user_id?: string | undefined;
}

/** What the server would refuse in a key for reasons beyond single fields. */
function apiKeyRules(key: ApiKeyTerms, ctx: z.RefinementCtx): void {
  const refuse = (field: string, message: string) =>
    ctx.addIssue({ code: 'custom', path: [field], message });
  if (key.type === 'workspace' && key.workspace_id === undefined) {
    refuse('type', 'is "workspace", so metadata.workspace must name one');
  }
  if (key.type === 'organisation' && key.workspace_id !== undefined) {
    refuse('type', 'is "organisation", so metadata.workspace cannot be set');
  }
  if (key.sub_type === 'user' && key.user_id === undefined) {
    refuse('user_id', 'is required for a user key');
  }
}

async function loadGuardrailMcpBinding(): Promise<z.ZodObject> {
  const { GuardrailMappingPut } = await import('./guardrail-mapping.ts');
  const End = z.string().min(1).max(255);
  return GuardrailMappingPut.omit({ capability_ids: true })
    .extend({ guardrail_id: End, mcp_server_id: End })
    .strict();
}

async function loadUsageLimitPolicy(): Promise<z.ZodObject> {
  const { UsageLimitPolicyCreate } = await import('./usage-limit-policy.ts');
  const { limitRules } = await import('./limits.ts');
  return UsageLimitPolicyCreate.strict().superRefine(limitRules);
}
