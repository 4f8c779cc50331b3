/** Defines access policies, which grant a principal a role on a TSG or workspace (docs/reference/access.md, Access policies). */
import { z } from 'zod';

/** Domain of this deployment's service accounts in the `principal` of an access policy. */
const serviceAccountDomain = 'serviceaccount.gatewright.internal';

/** Formats a service account as a principal: `<name>@<tsg_id>.<domain>`. */
export function serviceAccountPrincipal(name: string, tsgId: string): string {
  return `${name}@${tsgId}.${serviceAccountDomain}`;
}

/** The name of a service account of the TSG; null for another principal. */
export function accountNameOf(principal: string, tsgId: string): string | null {
  const [name = '', domain] = principal.split('@');
  return domain === `${tsgId}.${serviceAccountDomain}` ? name : null;
}

export const tsgIdPattern = /^\d{10}$/;
const resourcePattern = /^prn:(\d{10})::::([\w-]{0,190})$/;

/** The target of a policy: a whole TSG with everything below it, or one workspace of a TSG. */
export interface GrantedResource {
  readonly tsgId: string;
  /** Id or slug; null for the TSG itself. */
  readonly workspace: string | null;
}

/** Parses `prn:<tsg_id>::::<workspace>`; null for another form. */
export function parseResource(resource: string): GrantedResource | null {
  const match = resourcePattern.exec(resource);
  if (match === null) return null;
  return { tsgId: match[1]!, workspace: match[2] === '' ? null : match[2]! };
}

/** Formats the `resource` for a TSG (workspace null) or a workspace. */
export function formatResource(tsgId: string, workspace: string | null): string {
  return `prn:${tsgId}::::${workspace ?? ''}`;
}

/** The create body. Principals are not checked for existence, only for form. */
export const AccessPolicyCreate = z.object({
  principal: z
    .string()
    .max(320)
    .regex(
      /^[^\s@\u0000-\u001f]+@[^\s@\u0000-\u001f]+$/,
      'must be an e-mail address or <name>@<tsg_id>.<domain>',
    ),
  resource: z
    .string()
    .max(255)
    .refine(
      (text) => parseResource(text) !== null,
      'must have the form prn:<tsg_id>::::<workspace>',
    ),
  role: z
    .string()
    .max(128)
    .regex(/^[a-z][a-z0-9_-]*(:\d{10})?$/, 'must be a role slug, or <role_slug>:<tsg_id>'),
});
export type AccessPolicyCreate = z.infer<typeof AccessPolicyCreate>;
