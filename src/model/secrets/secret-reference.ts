/** Defines the bodies that create and update secret references, whose values stay in a secret manager. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { type Fault, prefixFaults } from '../wire/fault.ts';
import { freeText, ResourceName, Tags } from '../wire/resource-fields.ts';
import { OptionalSlug } from '../wire/slug.ts';
import { AllowedHosts } from './allowed-hosts.ts';
import { AuthConfig, authFaults, ManagerType, mergeAuthConfig } from './secret-manager.ts';

const workspacesMax = 1000;
const SecretPath = z.string().min(1).max(1024);

/** Fields shared by create and update. */
const fields = {
  description: described(freeText(1024).nullable().optional(), 'Purpose of the value.'),
  secret_key: described(
    z.string().min(1).max(255).nullable().optional(),
    'Field of the secret if it holds several.',
    { examples: ['api_key'] },
  ),
  allow_all_workspaces: described(
    z.boolean().nullable().optional(),
    'Whether every workspace may use the value; false if allowed_workspaces is set.',
    { default: false },
  ),
  allowed_workspaces: described(
    z.array(z.string().min(1).max(255)).min(1).max(workspacesMax).nullable().optional(),
    'Workspaces that may use the value, by UUID or slug.',
  ),
  allowed_hosts: AllowedHosts,
  tags: Tags,
};

/** Body of POST /secret-references. */
export const SecretReferenceCreate = z.object({
  name: ResourceName,
  manager_type: described(ManagerType, 'Secret manager that stores the value.'),
  auth_config: described(AuthConfig, 'Address of the manager, and how to authenticate.'),
  secret_path: described(SecretPath, 'Name or path of the secret in the manager.', {
    examples: ['secret/data/openai', 'prod/openai'],
  }),
  slug: OptionalSlug,
  ...fields,
});
export type SecretReferenceCreate = z.infer<typeof SecretReferenceCreate>;

/** Schema of a manifest's spec, which rejects unknown fields of the auth config. */
export function makeSecretReferenceSpec(): z.ZodObject {
  const meaning = 'Address of the manager, and how to authenticate.';
  const auth_config = described(AuthConfig.strict(), meaning);
  return SecretReferenceCreate.extend({ auth_config }).strict();
}

/** Body of PUT /secret-references/{id}: an absent field is unchanged, null clears it; `auth_config` is merged by field. */
export const SecretReferenceUpdate = z.object({
  name: ResourceName.optional(),
  auth_config: AuthConfig.optional(),
  secret_path: SecretPath.optional(),
  ...fields,
});
export type SecretReferenceUpdate = z.infer<typeof SecretReferenceUpdate>;

/** Rules for a new reference that its schema cannot express; paths start at the body. */
export function secretReferenceFaults(body: SecretReferenceCreate): Fault[] {
  const config = mergeAuthConfig(body.manager_type, null, body.auth_config);
  return prefixFaults(['auth_config'], authFaults(body.manager_type, config));
}

/** Rules for a manifest, in which contradictory fields are rejected as well. */
export function secretReferenceSpecFaults(spec: SecretReferenceCreate): Fault[] {
  return [...secretReferenceFaults(spec), ...accessFaults(spec)];
}

function accessFaults({
  allow_all_workspaces,
  allowed_workspaces,
}: SecretReferenceCreate): Fault[] {
  if (allow_all_workspaces !== true || (allowed_workspaces ?? null) === null) return [];
  const message = 'must be omitted if allow_all_workspaces is true';
  return [{ path: ['allowed_workspaces'], message }];
}
