/** Finds fields of stored documents that no schema defines: documents that an older version accepted. */
import { unknownConfigFields } from '../configs/config-document.ts';
import { unknownGuardrailFields } from '../guardrails/guardrail-checks.ts';
import { McpConfigurations } from '../mcp/mcp-integration.ts';
import { unknownIntegrationFields } from '../providers/integration-faults.ts';
import { type Fault, prefixFaults } from '../wire/fault.ts';
import { extensionsField, unknownFieldFaults } from '../wire/unknown-fields.ts';
import type { KindName } from './kinds.ts';

type Spec = Readonly<Record<string, unknown>>;

/** Returns the unknown fields of the free-form parts of a spec; paths start at the spec. */
export function unknownDocumentFields(kind: KindName, spec: Spec): Fault[] {
  switch (kind) {
    case 'Config':
      return prefixFaults(['config'], unknownConfigFields(spec.config));
    case 'Guardrail':
      return unknownGuardrailFields(spec);
    case 'Integration':
      return unknownIntegrationFields(spec);
    case 'McpIntegration':
      return prefixFaults(
        ['configurations'],
        unknownFieldFaults(McpConfigurations, spec.configurations),
      );
    default:
      return [];
  }
}

/** Returns a copy of a spec with the fields at these paths in the `extensions` of the object that has them. */
export function withExtensions<Declared extends Spec>(
  spec: Declared,
  moved: readonly Fault['path'][],
): Declared {
  if (moved.length === 0) return spec;
  const copy = structuredClone(spec);
  // A field of this name that is no object makes room for the object first.
  const isExtensions = (path: Fault['path']): boolean => path.at(-1) === extensionsField;
  for (const path of [
    ...moved.filter(isExtensions),
    ...moved.filter((one) => !isExtensions(one)),
  ]) {
    const holder = path
      .slice(0, -1)
      .reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], copy);
    moveField(holder as Record<string, unknown>, String(path.at(-1)));
  }
  return copy;
}

function moveField(holder: Record<string, unknown>, name: string): void {
  const value = holder[name];
  delete holder[name];
  holder[extensionsField] = { ...(holder[extensionsField] as object | undefined), [name]: value };
}
