/** Knows the bodies by which secret references (values that stay in a secret manager) are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { below, type Fault } from '../wire/fault.ts';
import { freeText, ResourceName } from '../wire/resource-fields.ts';
import { AuthConfig, authFaults, ManagerType, mergedAuth } from './secret-manager.ts';
import { Slug } from '../wire/slug.ts';

const workspacesMax = 1000;
const Tags = z.record(z.string().min(1).max(255), z.string().max(1024));
const SecretPath = z.string().min(1).max(1024);

/** Fields that a create and an update share. */
const fields = {
  description: described(freeText(1024).nullable().optional(), 'What the value is for.'),
  secret_key: described(
    z.string().min(1).max(255).nullable().optional(),
    'Field of the secret, where it holds several.',
    { examples: ['api_key'] },
  ),
  allow_all_workspaces: described(
    z.boolean().nullable().optional(),
    'Whether every workspace may use it; false where allowed_workspaces says which.',
    { default: true },
  ),
  allowed_workspaces: described(
    z.array(z.string().min(1).max(255)).min(1).max(workspacesMax).nullable().optional(),
    'Workspaces that may use it, by UUID or slug.',
  ),
  tags: described(Tags.nullable().optional(), 'Texts by name, for your own use.'),
};

/** Body of POST /secret-references. */
export const SecretReferenceCreate = z.object({
  name: ResourceName,
  manager_type: described(ManagerType, 'Which secret manager keeps the value.'),
  auth_config: described(AuthConfig, 'Where the manager is, and how it is signed in to.'),
  secret_path: described(SecretPath, 'Name or path of the secret in the manager.', {
    examples: ['secret/data/openai', 'prod/openai'],
  }),
  slug: described(Slug.optional(), 'Short name in addresses; made from the name when left out.'),
  ...fields,
});
export type SecretReferenceCreate = z.infer<typeof SecretReferenceCreate>;

/** As a manifest has it: what is not known of how a manager is signed in to is refused. */
export function makeSecretReferenceSpec(): z.ZodObject {
  const meaning = 'Where the manager is, and how it is signed in to.';
  const auth_config = described(AuthConfig.strict(), meaning);
  return SecretReferenceCreate.extend({ auth_config }).strict();
}

/** Body of PUT /secret-references/{id}: absent fields stay, null clears; `auth_config` is merged by field. */
export const SecretReferenceUpdate = z.object({
  name: ResourceName.optional(),
  auth_config: AuthConfig.optional(),
  secret_path: SecretPath.optional(),
  ...fields,
});
export type SecretReferenceUpdate = z.infer<typeof SecretReferenceUpdate>;

/** What the schema of a new one cannot say; paths start at the body. */
export function secretReferenceFaults(body: SecretReferenceCreate): Fault[] {
  const config = mergedAuth(body.manager_type, null, body.auth_config);
  return below(['auth_config'], authFaults(body.manager_type, config));
}

/** Of a manifest, too, where nobody could say which of two contradicting fields was meant. */
export function secretReferenceSpecFaults(spec: SecretReferenceCreate): Fault[] {
  return [...secretReferenceFaults(spec), ...accessFaults(spec)];
}

function accessFaults({
  allow_all_workspaces,
  allowed_workspaces,
}: SecretReferenceCreate): Fault[] {
  if (allow_all_workspaces !== true || (allowed_workspaces ?? null) === null) return [];
  const message = 'must be left out where allow_all_workspaces is true';
  return [{ path: ['allowed_workspaces'], message }];
}
