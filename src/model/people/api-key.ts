/** Defines the bodies that create, update and rotate API keys. */
import { z } from 'zod';
import { RateLimits, UsageLimits } from '../limits/key-limits.ts';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { freeText, ResetUsage, WorkspaceReference } from '../wire/resource-fields.ts';
import { Timestamp } from '../wire/timestamp.ts';
import { Scopes } from './scope-list.ts';
import { allScopes, isKnownScope } from './scopes.ts';

const alertEmailsMax = 100;
/** Minimum and default time for which a replaced value stays valid. */
export const transitionMsMin = 1_800_000;
const msPerDay = 86_400_000;

export const ApiKeyType = z.enum(['organisation', 'workspace']);
export type ApiKeyType = z.infer<typeof ApiKeyType>;

export const ApiKeySubType = z.enum(['service', 'user']);
export type ApiKeySubType = z.infer<typeof ApiKeySubType>;

/** Appears in alerts and mails, where a line break could forge a header. */
const ApiKeyName = z
  .string()
  .min(1)
  .refine(
    (text) => text.length <= 100 || [...text].length <= 100,
    'must have at most 100 characters',
  )
  .refine((text) => !/\p{Cc}/u.test(text), 'must not contain control characters')
  .meta({
    maxLength: 100,
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
    description: 'Display name, also used in alerts and mails.',
  });

const AlertEmails = z.array(z.email().max(254)).max(alertEmailsMax);

const TransitionMs = z
  .int()
  .min(transitionMsMin)
  .max(365 * msPerDay);

const rotationTerms = z.strictObject({
  rotation_period: described(
    z.enum(['weekly', 'monthly']).nullable().optional(),
    'How often the value of the key is replaced; excludes the other forms of a schedule.',
  ),
  rotation_period_days: described(
    z.int().min(1).max(365).nullable().optional(),
    'Number of days after which the value of the key is replaced.',
    { examples: [30] },
  ),
  next_rotation_at: described(
    Timestamp.nullable().optional(),
    'Time at which the value of the key is replaced, once.',
    { examples: ['2030-01-01T00:00:00Z'] },
  ),
  key_transition_period_ms: described(
    TransitionMs.nullable().optional(),
    'How long the replaced value stays valid, in milliseconds; shorter than the period.',
    { default: transitionMsMin },
  ),
});

/** When the key's value is replaced: periodically, or once at `next_rotation_at`. */
export const RotationPolicy = rotationTerms.superRefine(rotationRules);
export type RotationPolicy = z.infer<typeof RotationPolicy>;

/** Like {@link RotationPolicy}, but accepts the `next_rotation_at` that the server returned for a periodic policy. */
export const RepeatedRotationPolicy = rotationTerms.superRefine((policy, ctx) =>
  rotationRules(hasPeriod(policy) ? { ...policy, next_rotation_at: null } : policy, ctx),
);

interface RotationTerms {
  rotation_period?: 'weekly' | 'monthly' | null | undefined;
  rotation_period_days?: number | null | undefined;
  next_rotation_at?: string | null | undefined;
  key_transition_period_ms?: number | null | undefined;
}

export const severalSchedulesFault =
  'accepts one of rotation_period, rotation_period_days and next_rotation_at, not several';

function rotationRules(policy: RotationTerms, ctx: z.RefinementCtx): void {
  const chosen = [policy.rotation_period, policy.rotation_period_days, policy.next_rotation_at];
  if (chosen.filter((choice) => choice !== undefined && choice !== null).length > 1) {
    ctx.addIssue({ code: 'custom', path: [], message: severalSchedulesFault });
  }
  const periodMs = shortestPeriodMs(policy);
  if (periodMs !== null && (policy.key_transition_period_ms ?? 0) >= periodMs) {
    const message = 'must be shorter than the rotation period';
    ctx.addIssue({ code: 'custom', path: ['key_transition_period_ms'], message });
  }
}

/** Whether the key is rotated periodically rather than once. */
export function hasPeriod(policy: RotationTerms): boolean {
  const { rotation_period: period, rotation_period_days: days } = policy;
  return typeof period === 'string' || typeof days === 'number';
}

/** Null without a period. A monthly period counts as 28 days, the shortest month. */
export function shortestPeriodMs(policy: RotationTerms): number | null {
  if (policy.rotation_period === 'weekly') return 7 * msPerDay;
  if (policy.rotation_period === 'monthly') return 28 * msPerDay;
  return typeof policy.rotation_period_days === 'number'
    ? policy.rotation_period_days * msPerDay
    : null;
}

/** Defaults for requests made with the key. */
const ApiKeyDefaults = z.strictObject({
  metadata: described(JsonRecord.nullable().optional(), 'Added to the metadata of every request.'),
  config_id: described(
    z.string().min(1).max(255).nullable().optional(),
    'Config by UUID or slug; returned as UUID.',
  ),
  allow_config_override: described(
    z.boolean().nullable().optional(),
    'When false, a request cannot choose another config.',
  ),
});
export type ApiKeyDefaults = z.infer<typeof ApiKeyDefaults>;

/** Fields that create and update share. */
const sharedFields = {
  description: described(freeText(4096).nullable().optional(), 'Purpose of the key.'),
  rate_limits: described(
    RateLimits.nullable().optional(),
    'Limits on requests and tokens per period; each pair of type and unit at most once.',
  ),
  usage_limits: described(UsageLimits.nullable().optional(), 'Budget of the key.'),
  // Merged key by key on update.
  defaults: described(
    ApiKeyDefaults.nullable().optional(),
    'Defaults for requests made with the key.',
  ),
  alert_emails: described(
    AlertEmails.nullable().optional(),
    'E-mail addresses that are alerted when usage reaches the threshold.',
    { examples: [['team@example.com']] },
  ),
  expires_at: described(Timestamp.nullable().optional(), 'When the key expires.', {
    examples: ['2030-01-01T00:00:00Z'],
  }),
  rotation_policy: described(
    RotationPolicy.nullable().optional(),
    'When the value of the key is replaced.',
  ),
};

/** Body of POST /api-keys/{type}/{sub-type}; the two path values are not part of it. */
export const ApiKeyCreate = z.object({
  name: ApiKeyName,
  scopes: Scopes,
  /** The caller's own organisation, by UUID or TSG id; optional. */
  organisation_id: z.string().min(1).max(64).optional(),
  workspace_id: WorkspaceReference.optional(),
  user_id: described(
    z.uuid().optional(),
    'User who owns the key; required where the sub-type is user.',
    { examples: ['018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f'] },
  ),
  ...sharedFields,
});
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

/** Rules that depend on the key's type and sub-type, which single fields cannot express. */
export function apiKeyFaults(key: {
  readonly type: ApiKeyType;
  readonly sub_type: ApiKeySubType;
  readonly workspace_id?: string | undefined;
  readonly user_id?: string | undefined;
}): Fault[] {
  const hasWorkspace = key.workspace_id !== undefined;
  const faults: Fault[] = [];
  const reject = (field: string, message: string) => faults.push({ path: [field], message });
  if (key.type === 'workspace' && !hasWorkspace)
    reject('workspace_id', 'is required for a workspace key');
  if (key.type === 'organisation' && hasWorkspace) {
    reject('workspace_id', 'is not allowed for an organisation key');
  }
  if (key.sub_type === 'user' && key.user_id === undefined) {
    reject('user_id', 'is required for a user key');
  }
  return faults;
}

/** Schema of a manifest's spec: the path values and the body, with every rule that the server applies. */
export function makeApiKeySpec(): z.ZodObject {
  return ApiKeyCreate.omit({ organisation_id: true })
    .extend({
      type: ApiKeyType.meta({
        description:
          'Whether the key belongs to a workspace or to the organisation; follows from metadata.workspace.',
      }),
      sub_type: ApiKeySubType.meta({
        description: 'Whether a service or a person uses the key.',
        default: 'service',
      }),
      // Documents for readers of the schema what superRefine checks below.
      scopes: Scopes.meta({
        description: 'Permissions of the key.',
        items: { type: 'string', enum: allScopes },
        examples: [['completions.write']],
      }),
    })
    .strict()
    .superRefine((key, ctx) => {
      for (const { path, message } of apiKeyFaults(key)) {
        const isWorkspaceFault = path[0] === 'workspace_id';
        // A manifest names the workspace in its metadata, so the fault is reported at the type.
        const text = isWorkspaceFault ? `is "${key.type}": metadata.workspace ${message}` : message;
        ctx.addIssue({
          code: 'custom',
          path: isWorkspaceFault ? ['type'] : [...path],
          message: text,
        });
      }
      for (const [at, scope] of key.scopes.entries()) {
        if (isKnownScope(scope)) continue;
        const params = { candidates: allScopes };
        const path = ['scopes', at];
        ctx.addIssue({ code: 'custom', path, message: 'is not a known scope', params });
      }
    });
}

/** Body of PUT /api-keys/{id}: an absent field is unchanged, null clears it. */
export const ApiKeyUpdate = z.object({
  name: ApiKeyName.optional(),
  scopes: Scopes.optional(),
  ...sharedFields,
  rotation_policy: described(
    RepeatedRotationPolicy.nullable().optional(),
    'When the value of the key is replaced.',
  ),
  reset_usage: ResetUsage,
});
export type ApiKeyUpdate = z.infer<typeof ApiKeyUpdate>;

/** Body of POST /api-keys/{id}/rotate; may be absent. */
export const ApiKeyRotate = z.object({
  /** Time for which the previous value stays valid. Defaults to the key's policy, else half an hour. */
  key_transition_period_ms: TransitionMs.optional(),
  /**
   * Keeps the previous value valid without a time limit until the same `key` is sent again without this
   * field. Use it to deliver the new value before the old one expires.
   */
  await_delivery: z.boolean().optional(),
});
export type ApiKeyRotate = z.infer<typeof ApiKeyRotate>;
