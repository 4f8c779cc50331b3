/** Defines the bodies that create, update and rotate service accounts, the clients of the Admin API. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, WorkspaceReference } from '../wire/resource-fields.ts';
import { RepeatedRotationPolicy, RotationPolicy, transitionMsMin } from './api-key.ts';
import { type BuiltInRole, builtInRoleNames } from './scopes.ts';

/** A DNS label, because the name is part of the client id. */
export const accountNamePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const rolesMax = 10;
const msPerDay = 86_400_000;

/** The role of `gatewright bootstrap`; only who holds it grants it, by an access policy. */
export const superuserRole = 'superuser' satisfies BuiltInRole;
type AssignableRole = Exclude<BuiltInRole, typeof superuserRole>;

/** Roles that an account created by a request or a manifest can have. */
export const assignableRoles = builtInRoleNames.filter((role) => role !== superuserRole) as [
  AssignableRole,
  ...AssignableRole[],
];

/** Why a role cannot be assigned; undefined if it can. */
export function roleFault(role: string): string | undefined {
  if (role === superuserRole) {
    return `is created by \`gatewright bootstrap\` alone; assign ${assignableRoles.join(', ')}`;
  }
  const isKnown = (assignableRoles as readonly string[]).includes(role);
  return isKnown ? undefined : `is not a role; roles are ${assignableRoles.join(', ')}`;
}

/** The handler checks the names, because an update may repeat roles that cannot be assigned. */
const Roles = z
  .array(z.string().min(1).max(128))
  .min(1)
  .max(rolesMax)
  .refine((roles) => new Set(roles).size === roles.length, 'must not repeat a role');

const Status = z.enum(['active', 'disabled']);
export type ServiceAccountStatus = z.infer<typeof Status>;
export const ServiceAccountStatus = Status;

const sharedFields = {
  description: described(freeText(1024).nullable().optional(), 'Purpose of the account.'),
  status: described(Status.optional(), 'A disabled account gets no token, and its tokens end.', {
    default: 'active',
  }),
};

/** Body of POST /service-accounts. */
export const ServiceAccountCreate = z.object({
  name: described(
    z
      .string()
      .regex(accountNamePattern, 'must be 1 to 63 lower-case letters, digits and inner dashes'),
    'Name in the client id, which is `<name>@<tsg_id>.<domain>`.',
  ),
  roles: described(Roles, 'Roles in the workspace, or in the whole tenant without one.', {
    examples: [['resource_admin']],
  }),
  workspace_id: WorkspaceReference.optional(),
  ...sharedFields,
  rotation_policy: described(
    RotationPolicy.nullable().optional(),
    'When the client secret is replaced.',
  ),
});
export type ServiceAccountCreate = z.infer<typeof ServiceAccountCreate>;

/** Schema of a manifest's spec, which names the roles that can be assigned. */
export function makeServiceAccountSpec(): z.ZodObject {
  return ServiceAccountCreate.extend({
    roles: Roles.meta({
      description: 'Roles in the workspace, or in the whole tenant without one.',
      items: { type: 'string', enum: assignableRoles },
      examples: [['resource_admin']],
    }),
  })
    .strict()
    .superRefine(({ roles }, ctx) => {
      for (const [at, role] of roles.entries()) {
        const message = roleFault(role);
        if (message === undefined) continue;
        const params = { candidates: assignableRoles };
        ctx.addIssue({ code: 'custom', path: ['roles', at], message, params });
      }
    });
}

/** Body of PUT /service-accounts/{id}: an absent field is unchanged, null clears it. */
export const ServiceAccountUpdate = z.object({
  roles: Roles.optional(),
  ...sharedFields,
  rotation_policy: described(
    RepeatedRotationPolicy.nullable().optional(),
    'When the client secret is replaced.',
  ),
});
export type ServiceAccountUpdate = z.infer<typeof ServiceAccountUpdate>;

/** Body of POST /service-accounts/{id}/rotate; may be absent. */
export const ServiceAccountRotate = z.object({
  /**
   * Time for which the previous secret stays valid; 0 ends it at once. Defaults to the account's policy, else
   * half an hour.
   */
  key_transition_period_ms: z
    .int()
    .min(0)
    .max(365 * msPerDay)
    .refine(
      (ms) => ms === 0 || ms >= transitionMsMin,
      `must be 0, or at least ${transitionMsMin} (half an hour)`,
    )
    .optional(),
  /**
   * Keeps the previous secret valid without a time limit until the same `client_secret` is sent again
   * without this field.
   */
  await_delivery: z.boolean().optional(),
});
export type ServiceAccountRotate = z.infer<typeof ServiceAccountRotate>;
