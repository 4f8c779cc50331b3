/** Knows the bodies by which API keys are made and changed. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';
import { JsonRecord } from '../wire/json-record.ts';
import { RateLimits, UsageLimits } from '../limits/key-limits.ts';
import { Flag, freeText, WorkspaceReference } from '../wire/resource-fields.ts';
import { Scopes } from './scope-list.ts';
import { allScopes, isKnownScope } from './scopes.ts';
import { Timestamp } from '../wire/timestamp.ts';

const alertEmailsMax = 100;
/** Shortest time for which a replaced value stays good; also what holds when nothing is said. */
export const transitionMsMin = 1_800_000;
const dayMs = 86_400_000;

export const ApiKeyType = z.enum(['organisation', 'workspace']);
export type ApiKeyType = z.infer<typeof ApiKeyType>;

export const ApiKeySubType = z.enum(['service', 'user']);
export type ApiKeySubType = z.infer<typeof ApiKeySubType>;

/** Shown in alerts and mails, so that a line break could forge a header there. */
const ApiKeyName = z
  .string()
  .min(1)
  .refine(
    (text) => text.length <= 100 || [...text].length <= 100,
    'must have at most 100 characters',
  )
  .refine((text) => !/\p{Cc}/u.test(text), 'must not hold control characters')
  .meta({
    maxLength: 100,
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
    description: 'Name that people see, in alerts and mails too.',
  });

const AlertEmails = z.array(z.email().max(254)).max(alertEmailsMax);

const TransitionMs = z
  .int()
  .min(transitionMsMin)
  .max(365 * dayMs);

const rotationTerms = z.strictObject({
  rotation_period: described(
    z.enum(['weekly', 'monthly']).nullable().optional(),
    'How often the value of the key is replaced; one of the three forms of a schedule.',
  ),
  rotation_period_days: described(
    z.int().min(1).max(365).nullable().optional(),
    'Every so many days the value of the key is replaced.',
    { examples: [30] },
  ),
  next_rotation_at: described(
    Timestamp.nullable().optional(),
    'When the value of the key is replaced, once.',
    { examples: ['2030-01-01T00:00:00Z'] },
  ),
  key_transition_period_ms: described(
    TransitionMs.nullable().optional(),
    'How long the replaced value stays valid, in milliseconds; shorter than the period.',
    { default: transitionMsMin },
  ),
});

/** When the key's value is replaced: by a period, or once at `next_rotation_at`. */
export const RotationPolicy = rotationTerms.superRefine(rotationRules);
export type RotationPolicy = z.infer<typeof RotationPolicy>;

/** As {@link RotationPolicy}, and what the server has told of one with a period may be said again. */
const RepeatedRotationPolicy = rotationTerms.superRefine((policy, ctx) =>
  rotationRules(hasPeriod(policy) ? { ...policy, next_rotation_at: null } : policy, ctx),
);

interface RotationTerms {
  rotation_period?: 'weekly' | 'monthly' | null | undefined;
  rotation_period_days?: number | null | undefined;
  next_rotation_at?: string | null | undefined;
  key_transition_period_ms?: number | null | undefined;
}

export const severalSchedules =
  'takes one of rotation_period, rotation_period_days and next_rotation_at, not several';

function rotationRules(policy: RotationTerms, ctx: z.RefinementCtx): void {
  const chosen = [policy.rotation_period, policy.rotation_period_days, policy.next_rotation_at];
  if (chosen.filter((choice) => choice !== undefined && choice !== null).length > 1) {
    ctx.addIssue({ code: 'custom', path: [], message: severalSchedules });
  }
  const periodMs = shortestPeriodMs(policy);
  if (periodMs !== null && (policy.key_transition_period_ms ?? 0) >= periodMs) {
    const message = 'must be shorter than the rotation period';
    ctx.addIssue({ code: 'custom', path: ['key_transition_period_ms'], message });
  }
}

/** Whether the key is rotated again and again, and not once at a moment. */
export function hasPeriod(policy: RotationTerms): boolean {
  const { rotation_period: period, rotation_period_days: days } = policy;
  return typeof period === 'string' || typeof days === 'number';
}

/** Null without a period. February is the shortest month. */
export function shortestPeriodMs(policy: RotationTerms): number | null {
  if (policy.rotation_period === 'weekly') return 7 * dayMs;
  if (policy.rotation_period === 'monthly') return 28 * dayMs;
  return typeof policy.rotation_period_days === 'number'
    ? policy.rotation_period_days * dayMs
    : null;
}

/** What requests made with the key start from. */
const ApiKeyDefaults = z.strictObject({
  metadata: described(JsonRecord.nullable().optional(), 'Added to the metadata of every request.'),
  config_id: described(
    z.string().min(1).max(255).nullable().optional(),
    'Config by UUID or slug; answered as UUID.',
  ),
  allow_config_override: described(
    z.boolean().nullable().optional(),
    'When false, a request cannot choose another config.',
  ),
});
export type ApiKeyDefaults = z.infer<typeof ApiKeyDefaults>;

/** Fields that create and update share. */
const changeable = {
  description: described(freeText(4096).nullable().optional(), 'What the key is for.'),
  rate_limits: described(
    RateLimits.nullable().optional(),
    'Limits on requests and tokens in a time; a pair of type and unit once.',
  ),
  usage_limits: described(UsageLimits.nullable().optional(), 'Budget of the key.'),
  // Merged key by key on update.
  defaults: described(
    ApiKeyDefaults.nullable().optional(),
    'What requests made with the key start from.',
  ),
  alert_emails: described(
    AlertEmails.nullable().optional(),
    'Addresses that are told when usage reaches the threshold.',
    { examples: [['team@example.com']] },
  ),
  expires_at: described(Timestamp.nullable().optional(), 'When the key stops working.', {
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
  /** The caller's own organisation, by UUID or TSG id; may be left out. */
  organisation_id: z.string().min(1).max(64).optional(),
  workspace_id: WorkspaceReference.optional(),
  user_id: described(z.uuid().optional(), 'Whose key it is; required where the sub-type is user.', {
    examples: ['018f2f0e-5a70-7c3e-9d0a-2f2b8c1d4e5f'],
  }),
  ...changeable,
});
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

/** What single fields of a new key cannot say: which of them its type and sub-type ask for. */
export function apiKeyFaults(key: {
  readonly type: ApiKeyType;
  readonly sub_type: ApiKeySubType;
  readonly workspace_id?: string | undefined;
  readonly user_id?: string | undefined;
}): Fault[] {
  const placed = key.workspace_id !== undefined;
  const faults: Fault[] = [];
  const refuse = (field: string, message: string) => faults.push({ path: [field], message });
  if (key.type === 'workspace' && !placed)
    refuse('workspace_id', 'is required for a workspace key');
  if (key.type === 'organisation' && placed) {
    refuse('workspace_id', 'is not for an organisation key');
  }
  if (key.sub_type === 'user' && key.user_id === undefined) {
    refuse('user_id', 'is required for a user key');
  }
  return faults;
}

/** What a manifest says of a key: its path values and the body, with every rule that the server keeps. */
export function makeApiKeySpec(): z.ZodObject {
  return ApiKeyCreate.omit({ organisation_id: true })
    .extend({
      type: ApiKeyType.meta({
        description:
          'Whether it is a key of a workspace or of the organisation; follows from metadata.workspace.',
      }),
      sub_type: ApiKeySubType.meta({
        description: 'Whether a service or a person uses it.',
        default: 'service',
      }),
      // What is checked below, for whoever reads the schema.
      scopes: Scopes.meta({
        description: 'What the key may do.',
        items: { type: 'string', enum: allScopes },
        examples: [['completions.write']],
      }),
    })
    .strict()
    .superRefine((key, ctx) => {
      for (const { path, message } of apiKeyFaults(key)) {
        const placed = path[0] === 'workspace_id';
        // A manifest says the workspace in its metadata, so that the fault is shown at the type.
        const shown = placed ? `is "${key.type}": metadata.workspace ${message}` : message;
        ctx.addIssue({ code: 'custom', path: placed ? ['type'] : [...path], message: shown });
      }
      for (const [at, scope] of key.scopes.entries()) {
        if (isKnownScope(scope)) continue;
        const params = { candidates: allScopes };
        const path = ['scopes', at];
        ctx.addIssue({ code: 'custom', path, message: 'is not a known scope', params });
      }
    });
}

/** Body of PUT /api-keys/{id}: absent fields stay, null clears. */
export const ApiKeyUpdate = z.object({
  name: ApiKeyName.optional(),
  scopes: Scopes.optional(),
  ...changeable,
  rotation_policy: described(
    RepeatedRotationPolicy.nullable().optional(),
    'When the value of the key is replaced.',
  ),
  /** A trigger, not a field: sets current usage to nought. Clients write it as a flag or as a number. */
  reset_usage: z.union([z.boolean(), Flag]).nullable().optional(),
});
export type ApiKeyUpdate = z.infer<typeof ApiKeyUpdate>;

/** Body of POST /api-keys/{id}/rotate, which may be absent. */
export const ApiKeyRotate = z.object({
  /** How long the value before stays valid; as the policy says, or half an hour, when left out. */
  key_transition_period_ms: TransitionMs.optional(),
  /**
   * The value before has no end until the same `key` is sent again without this: for who delivers the
   * new one first.
   */
  await_delivery: z.boolean().optional(),
});
export type ApiKeyRotate = z.infer<typeof ApiKeyRotate>;
