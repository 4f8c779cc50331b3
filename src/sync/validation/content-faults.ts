/** Checks the free-form parts of a spec as the server does: documents, checks, URLs, headers. */

import type { ConfigDocument } from '../../model/configs/config.ts';
import { configFaults, configWarnings } from '../../model/configs/config-document.ts';
import type { GuardrailCreate } from '../../model/guardrails/guardrail.ts';
import { guardrailFaults, guardrailWarnings } from '../../model/guardrails/guardrail-checks.ts';
import {
  defaultBodyLimits,
  documentBodyLimits,
  documentSizeFault,
} from '../../model/json/body-limits.ts';
import {
  mcpIntegrationFaults,
  mcpIntegrationWarnings,
} from '../../model/mcp/mcp-configurations.ts';
import type { McpIntegrationCreate } from '../../model/mcp/mcp-integration.ts';
import { mcpIntegrationTargets } from '../../model/mcp/mcp-secret-fields.ts';
import type { PromptCreate } from '../../model/prompts/prompt.ts';
import { templateFaults } from '../../model/prompts/prompt-rendering.ts';
import type { IntegrationCreate } from '../../model/providers/integration.ts';
import { workspaceIntegrationFaults } from '../../model/providers/integration-access.ts';
import {
  integrationFaults,
  integrationWarnings,
} from '../../model/providers/integration-faults.ts';
import { integrationTargets } from '../../model/providers/integration-mappings.ts';
import {
  type MappingTargets,
  mappingFaults,
  type SecretMapping,
} from '../../model/secrets/secret-mapping.ts';
import {
  type SecretReferenceCreate,
  secretReferenceSpecFaults,
} from '../../model/secrets/secret-reference.ts';
import { findAiProvider } from '../../model/services/ai-providers.ts';
import { type Fault, prefixFaults } from '../../model/wire/fault.ts';
import {
  type DeploymentCreate,
  deploymentSpecFaults,
} from '../../model/workspaces/gateway-deployment.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { DesiredResource, Spec, SpecJson } from '../resources/resource-set.ts';
import { isReference, isSecret, mapSpec, pointerOf } from '../resources/spec-paths.ts';
import type { SourceFault } from '../source/source-files.ts';
import { formatPath } from './spec-faults.ts';

/** The server's settings decide which private hosts are allowed, so all are allowed here. */
const trusted: TrustedHosts = [{ text: '*', port: null, covers: () => true }];
/** The built-in limits of targets; the server's settings may differ. */
const targetLimits = { rootMax: null, conditionalRootMax: null, nestedMax: null };

/** Kinds whose routes accept large bodies. */
const documentKinds: ReadonlySet<string> = new Set([
  'Config',
  'Guardrail',
  'UsageLimitPolicy',
  'RateLimitPolicy',
  'Integration',
]);

type Content = Pick<DesiredResource, 'identity' | 'spec' | 'secrets' | 'positionOf'>;

/** Returns faults of one resource that its schema cannot detect, without secret values. */
export function contentFaults(resource: Content): SourceFault[] {
  return faultsOf(resource).map((fault) => noteOf(resource, 'wrong-value', fault));
}

/** Returns the fields of one resource that the server accepts without effect. */
export function contentWarnings(resource: Content): SourceFault[] {
  return warningsOf(resource).map((fault) => ({
    ...noteOf(resource, 'without-effect', fault),
    fix: 'remove it, or put it into extensions',
  }));
}

function noteOf(resource: Content, code: string, { path, message }: Fault): SourceFault {
  const segments = path.map(String);
  return {
    position: resource.positionOf(pointerOf(segments)),
    code,
    message: `${formatPath(['spec', ...segments])} ${message}`,
  };
}

function warningsOf({ identity, spec }: Content): Fault[] {
  switch (identity.kind) {
    case 'Config':
      return prefixFaults(['config'], configWarnings((spec.config ?? {}) as ConfigDocument));
    case 'Guardrail':
      return guardrailWarnings(spec as unknown as GuardrailCreate);
    case 'McpIntegration':
      return mcpIntegrationWarnings(spec.configurations);
    case 'Integration': {
      const integration = spec as unknown as IntegrationCreate;
      const service = findAiProvider(integration.ai_provider_id)?.slug;
      return service === undefined ? [] : integrationWarnings(integration, service);
    }
    default:
      return [];
  }
}

/** The spec has been validated by the schema of its kind, which the type assertions rely on. */
function faultsOf({ identity, spec, secrets }: Content): Fault[] {
  const tooLarge = documentSizeFault(
    spec,
    documentKinds.has(identity.kind) ? documentBodyLimits : defaultBodyLimits,
  );
  if (tooLarge !== null) return [{ path: [], message: tooLarge }];
  switch (identity.kind) {
    case 'Config': {
      const document = withoutReferences(withSecrets(spec, secrets).config ?? {}) as ConfigDocument;
      return prefixFaults(['config'], configFaults(document, targetLimits, trusted));
    }
    case 'Guardrail': {
      const content = withSecrets(spec, secrets) as unknown as GuardrailCreate;
      return guardrailFaults(content, content.target ?? 'llm', trusted);
    }
    case 'McpIntegration': {
      const filled = withSecrets(spec, secrets) as unknown as McpIntegrationCreate;
      const owned = identity.workspace === null ? [] : workspaceIntegrationFaults(filled);
      return [
        ...mcpIntegrationFaults(filled, trusted),
        ...secretMappingFaults(filled.secret_mappings, mcpIntegrationTargets),
        ...owned,
      ];
    }
    case 'Integration': {
      const filled = withSecrets(spec, secrets) as unknown as IntegrationCreate;
      const owned = identity.workspace === null ? [] : workspaceIntegrationFaults(filled);
      const service = findAiProvider(filled.ai_provider_id)?.slug;
      const targets = service === undefined ? null : integrationTargets(service);
      return [
        ...integrationFaults(filled, trusted),
        ...secretMappingFaults(filled.secret_mappings, targets),
        ...owned,
      ];
    }
    case 'SecretReference':
      return secretReferenceSpecFaults(
        withSecrets(spec, secrets) as unknown as SecretReferenceCreate,
      );
    case 'Deployment':
      return deploymentSpecFaults(spec as unknown as DeploymentCreate);
    case 'Prompt':
      return templateFaults(spec as unknown as PromptCreate);
    case 'PromptPartial':
      return templateFaults({ string: String(spec.string), is_raw_template: 1 });
    default:
      return [];
  }
}

/** @param targets null for an unknown service, which is a fault of its own */
function secretMappingFaults(
  mappings: readonly SecretMapping[] | null | undefined,
  targets: MappingTargets | null,
): Fault[] {
  if (mappings === undefined || mappings === null || targets === null) return [];
  return prefixFaults(['secret_mappings'], mappingFaults(mappings, targets));
}

/** Copies a value with a valid slug in place of each reference. */
function withoutReferences(value: SpecJson): SpecJson {
  if (typeof value !== 'object' || value === null) return value;
  if (isReference(value)) return 'reference';
  if (Array.isArray(value)) return value.map(withoutReferences);
  const copy: Record<string, SpecJson> = {};
  for (const key of Object.keys(value)) copy[key] = withoutReferences(value[key] ?? null);
  return copy;
}

/** Copies a spec with secret values in place, or any text where a value is unavailable. */
function withSecrets(spec: Spec, secrets: DesiredResource['secrets']): Spec {
  return mapSpec(spec, (value, segments) =>
    isSecret(value) ? secrets.get(pointerOf(segments))?.reveal() || 'secret' : undefined,
  );
}
