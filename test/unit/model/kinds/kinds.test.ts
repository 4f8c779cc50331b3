/** Checks that the kinds table agrees with the schemas of the API and with itself. */
import { describe, expect, it } from 'vitest';
import { resources } from '../../../../src/admin/resources.ts';
import { ConfigUpdate } from '../../../../src/model/configs/config.ts';
import { GuardrailUpdate } from '../../../../src/model/guardrails/guardrail.ts';
import { GuardrailExclusionUpdate } from '../../../../src/model/guardrails/guardrail-exclusion.ts';
import { type KindName, kindNames, kinds } from '../../../../src/model/kinds/kinds.ts';
import { loadSpecSchema } from '../../../../src/model/kinds/spec-schemas.ts';
import { RateLimitPolicyUpdate } from '../../../../src/model/limits/rate-limit-policy.ts';
import { UsageLimitPolicyUpdate } from '../../../../src/model/limits/usage-limit-policy.ts';
import { McpIntegrationUpdate } from '../../../../src/model/mcp/mcp-integration.ts';
import { McpServerUpdate } from '../../../../src/model/mcp/mcp-server.ts';
import { ApiKeyUpdate } from '../../../../src/model/people/api-key.ts';
import { ScimMappingUpdate } from '../../../../src/model/people/scim-mapping.ts';
import { ServiceAccountUpdate } from '../../../../src/model/people/service-account.ts';
import { TenantServiceGroupUpdate } from '../../../../src/model/people/tenant-service-group.ts';
import { PromptUpdate } from '../../../../src/model/prompts/prompt.ts';
import { PromptCollectionUpdate } from '../../../../src/model/prompts/prompt-collection.ts';
import { PromptLabelUpdate } from '../../../../src/model/prompts/prompt-label.ts';
import { PromptPartialUpdate } from '../../../../src/model/prompts/prompt-partial.ts';
import { SecretReferenceUpdate } from '../../../../src/model/secrets/secret-reference.ts';
import { DeploymentUpdate } from '../../../../src/model/workspaces/gateway-deployment.ts';
import { OrganisationDefaults } from '../../../../src/model/workspaces/organisation-defaults.ts';
import { WorkspaceUpdate } from '../../../../src/model/workspaces/workspace.ts';
import { WorkspaceGuardrailsUpdate } from '../../../../src/model/workspaces/workspace-guardrails.ts';

const updates = {
  Workspace: WorkspaceUpdate,
  Guardrail: GuardrailUpdate,
  Config: ConfigUpdate,
  ApiKey: ApiKeyUpdate,
  McpIntegration: McpIntegrationUpdate,
  McpServer: McpServerUpdate,
  SecretReference: SecretReferenceUpdate,
  UsageLimitPolicy: UsageLimitPolicyUpdate,
  RateLimitPolicy: RateLimitPolicyUpdate,
  PromptLabel: PromptLabelUpdate,
  PromptCollection: PromptCollectionUpdate,
  PromptPartial: PromptPartialUpdate,
  Prompt: PromptUpdate,
  OrganisationDefaults,
  GuardrailExclusion: GuardrailExclusionUpdate,
  WorkspaceGuardrails: WorkspaceGuardrailsUpdate,
  Deployment: DeploymentUpdate,
  ScimMapping: ScimMappingUpdate,
  ServiceAccount: ServiceAccountUpdate,
  TenantServiceGroup: TenantServiceGroupUpdate,
};

const bodies = Object.fromEntries(
  await Promise.all(kindNames.map(async (name) => [name, await loadSpecSchema(name)] as const)),
) as Record<KindName, Awaited<ReturnType<typeof loadSpecSchema>>>;

describe.each(kindNames.map((name) => [name, kinds[name]] as const))('%s', (name, kind) => {
  const body = bodies[name];

  it('names only fields that its body has', () => {
    const places = [
      ...kind.references.map(({ path }) => path),
      ...kind.secrets,
      ...kind.opaque,
      ...kind.immutable,
      ...kind.merged,
      ...kind.sets,
      ...kind.pathFields,
    ];
    const unknown = places.filter((place) => !(place.split('.')[0]! in body.shape));
    expect(unknown).toEqual([]);
  });

  it('rejects unknown fields', () => {
    const issues = body.safeParse({ surprise: 1 }).error?.issues ?? [];
    expect(issues.some(({ code }) => code === 'unrecognized_keys')).toBe(true);
  });
});

it.each(Object.entries(updates))(
  '%s: marks what the update body lacks as immutable',
  (name, update) => {
    const { immutable } = kinds[name as KindName];
    const body = bodies[name as KindName];
    const fixed = Object.keys(body.shape).filter((field) => !(field in update.shape));
    expect([...immutable].sort()).toEqual(fixed.sort());
  },
);

it('contains a resource of the Admin API for every kind, each after those that it refers to', () => {
  const order = resources.map(({ kind }) => kind);
  expect(order.toSorted()).toEqual(kindNames.toSorted());
  const early = order.flatMap((kind, at) =>
    kinds[kind].references.filter(
      (reference) => reference.kind !== kind && order.indexOf(reference.kind) >= at,
    ),
  );
  expect(early).toEqual([]);
});

it('has no cycle among the kinds, so that resources never refer to each other in a cycle', () => {
  const done = new Set<KindName>();
  const visit = (name: KindName, path: KindName[]): void => {
    expect(path, `${path.join(' -> ')} -> ${name}`).not.toContain(name);
    if (done.has(name)) return;
    for (const { kind } of kinds[name].references) {
      if (kind !== name) visit(kind, [...path, name]);
    }
    done.add(name);
  };
  for (const name of kindNames) visit(name, []);
});

it('addresses an item by its id, escaped', () => {
  expect(kinds.Config.item('a/b', {})).toBe('/v2/configs/a%2Fb');
  const ends = { guardrail_id: 'g', mcp_server_id: 's' };
  expect(kinds.GuardrailMcpBinding.item('x', ends)).toBe('/admin/v2/guardrails/g/mcp-servers/s');
  expect(kinds.ApiKey.create({ type: 'workspace', sub_type: 'service' })).toEqual({
    method: 'POST',
    path: '/v1/api-keys/workspace/service',
  });
});
