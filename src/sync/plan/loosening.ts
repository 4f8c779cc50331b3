/**
 * Decides, by kind, which differences loosen access: raised limits, added scopes, removed guards.
 */
import { checkFields } from '../../model/configs/config-secret-fields.ts';
import type { KindName } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import type { Difference } from '../diff/diff.ts';
import { isNested, leafValues } from '../diff/leaf-values.ts';
import type { Spec, SpecJson } from '../resources/resource-set.ts';
import { segmentsOf, valueAt } from '../resources/spec-paths.ts';
import {
  becomes,
  ceiling,
  cheaperFactor,
  cheaperPrice,
  checkParameter,
  condition,
  deadline,
  defaultGuardrailRules,
  gives,
  guardrailActionRules,
  guards,
  inlineGuard,
  isUnset,
  type Judge,
  type JudgedPath,
  type JudgedValue,
  joins,
  laxerPolicy,
  momentOf,
  noLonger,
  ofAdditions,
  ofWholes,
  opens,
  relayedCallerRules,
  shows,
  turnsOn,
  unknown,
} from './loosening-rules.ts';
import type { DraftChange } from './plan-model.ts';

/** In order of increasing rights. */
const roles = ['member', 'manager', 'admin'];
/** Absent refuses. */
const allowance: Judge = (from, to) => !isUnset(to) && !(Number(to) <= Number(from ?? 0));
const renewals: readonly JudgedValue[] = [null, 'monthly', 'weekly'];

/** Rules by path in the spec, first match; `prefix` is the path of the budget. */
function budgetRules(prefix: string): Rules {
  return {
    [`${prefix}credit_limit`]: ceiling,
    [`${prefix}on_outage_allowance`]: allowance,
    [`${prefix}type`]: unknown,
    // The sooner a budget restarts, the more it allows.
    [`${prefix}periodic_reset`]: (from, to) =>
      renewals.indexOf(to ?? null) > renewals.indexOf(from ?? null),
    [`${prefix}periodic_reset_days`]: (from, to) => !isUnset(to) && !(Number(to) >= Number(from)),
    [`${prefix}next_usage_reset_at`]: (from, to) =>
      !isUnset(to) && !(momentOf(to) >= momentOf(from)),
  };
}

type Rules = Readonly<Record<string, Judge>>;

interface KindRules {
  readonly values: Rules;
  /** Rules for top-level fields as a whole. */
  readonly fields?: Readonly<Record<string, (from: JudgedValue, to: JudgedValue) => boolean>>;
  readonly creating?: true;
  readonly deleting?: true;
}

const rateLimitRules: Rules = { 'rate_limits.*.value': ceiling };

/** The longer the value of a credential lives, the looser. */
const rotationRules: Rules = {
  'rotation_policy.rotation_period': guards,
  'rotation_policy.rotation_period_days': ceiling,
  'rotation_policy.next_rotation_at': deadline,
  'rotation_policy.key_transition_period_ms': (from, to) => !(Number(to ?? 0) <= Number(from)),
};

/** Conditions that select the requests of a policy. */
const policyRules: Rules = {
  'conditions.**': condition,
  // More groups mean more limits.
  'group_by.**': (_, to) => !isUnset(to),
  workspace_id: unknown,
};

/** The workspaces that may use an integration. */
const workspaceRules: Rules = {
  'global_workspace_access.enabled': noLonger(false),
  'workspaces.*.enabled': opens,
};

const capabilityRules: Rules = {
  'disabled_capabilities.*.name': guards,
  'disabled_capabilities.*.type': guards,
  'disabled_client_capabilities.*': guards,
};

const definitionRules: Rules = {
  definition_policy: laxerPolicy,
  'approved_definitions.*.name': gives,
  'approved_definitions.*.type': gives,
  'approved_definitions.*.digest': gives,
};

/** The callers that a deployment serves. */
function servedRules(list: string): Rules {
  return {
    [`auth_settings.${list}`]: guards,
    [`auth_settings.${list}.*`]: joins,
  };
}

/** The single definition of what loosens access. Paths without a rule never do. */
const rules: Readonly<Record<KindName, KindRules>> = {
  Workspace: {
    values: {
      ...budgetRules('usage_limits.'),
      ...rateLimitRules,
      'defaults.allow_config_override': noLonger(false),
      'settings.user_api_key_auto_create': turnsOn,
      'settings.user_api_key_auto_create_scopes.*': gives,
      'settings.user_api_keys_max': ceiling,
      'settings.api_key_max_ttl_days': ceiling,
      'settings.export_settings.deniedFields.*': guards,
      'security_settings.*': shows,
    },
  },
  ApiKey: {
    values: {
      'scopes.*': gives,
      ...rateLimitRules,
      ...budgetRules('usage_limits.'),
      expires_at: deadline,
      'defaults.allow_config_override': noLonger(false),
      'defaults.config_id': guards,
      ...rotationRules,
      type: becomes('organisation'),
      workspace_id: guards,
      user_id: unknown,
    },
    creating: true,
  },
  Guardrail: {
    values: {
      'checks.*.id': guards,
      'checks.*.is_enabled': becomes(false),
      'checks.*.parameters.**': checkParameter,
      ...guardrailActionRules,
      target: unknown,
      workspace_id: unknown,
    },
    deleting: true,
  },
  Config: {
    values: {
      'config.**.forward_headers.*': gives,
      'config.**.passthrough': becomes(true),
      'config.**.override_params.max_tokens': ceiling,
      ...Object.fromEntries(checkFields.map((list) => [`config.**.${list}.**`, inlineGuard])),
    },
  },
  SecretReference: {
    values: {
      allow_all_workspaces: (_, to) => to === true,
      'allowed_workspaces.*': gives,
      'allowed_hosts.*': gives,
    },
  },
  McpIntegration: {
    values: {
      auth_type: becomes('none'),
      ...relayedCallerRules,
      ...workspaceRules,
      ...capabilityRules,
      ...definitionRules,
      workspace_id: guards,
    },
  },
  McpServer: {
    values: {
      default_user_access: noLonger('deny'),
      'user_access.*.enabled': opens,
      ...capabilityRules,
      ...definitionRules,
    },
    creating: true,
  },
  GuardrailMcpBinding: {
    values: { guardrail_id: unknown, mcp_server_id: unknown },
    fields: {
      run_on: (from, to) => !holdsAll(momentsOfRun(to), momentsOfRun(from)),
      // No list covers all capabilities of the server.
      mcp_integration_capability_ids: (from, to) =>
        listOf(to).length > 0 && (listOf(from).length === 0 || !holdsAll(listOf(to), listOf(from))),
    },
    deleting: true,
  },
  UsageLimitPolicy: { values: { ...budgetRules(''), ...policyRules }, deleting: true },
  RateLimitPolicy: {
    values: { value: ceiling, type: unknown, unit: unknown, target: unknown, ...policyRules },
    deleting: true,
  },
  Integration: {
    values: {
      allow_all_models: noLonger(false),
      'models.*.enabled': opens,
      'models.*.configurations.custom_host': unknown,
      'models.*.pricing_config.pay_as_you_go.**': cheaperPrice,
      'models.*.pricing_config.service_tiers.*': cheaperPrice,
      'models.*.pricing_adjustments.multiplier.**': cheaperPrice,
      'pricing_adjustments.multiplier.default': cheaperFactor,
      // A value that is not set has a default that is defined elsewhere.
      'pricing_adjustments.multiplier.**': cheaperPrice,
      'capabilities.*': noLonger('off'),
      ...workspaceRules,
      'workspaces.*.rate_limits.*.value': ceiling,
      ...budgetRules('workspaces.*.usage_limits.'),
      'global_workspace_access.rate_limits.*.value': ceiling,
      ...budgetRules('global_workspace_access.usage_limits.'),
      'configurations.custom_host': unknown,
      'configurations.raw_paths.*': gives,
      workspace_id: guards,
    },
  },
  Provider: {
    values: { ...rateLimitRules, ...budgetRules('usage_limits.'), expires_at: deadline },
    creating: true,
  },
  PromptLabel: { values: {} },
  PromptCollection: { values: {} },
  PromptPartial: { values: {} },
  Prompt: { values: { 'parameters.max_tokens': ceiling } },
  OrganisationDefaults: {
    values: {
      ...defaultGuardrailRules,
      'export_settings.deniedFields.*': guards,
      api_key_max_ttl_days: ceiling,
    },
    deleting: true,
  },
  GuardrailExclusion: {
    values: { input_guardrails: turnsOn, output_guardrails: turnsOn },
    creating: true,
  },
  WorkspaceGuardrails: {
    values: defaultGuardrailRules,
    deleting: true,
  },
  Deployment: {
    values: {
      // Without a list it serves everybody.
      ...servedRules('workspaces_allowed'),
      ...servedRules('jwt_subs_allowed'),
      ...servedRules('jwt_sub_workspace_mapping'),
      'auth_settings.allow_all_workspaces': noLonger(false),
      'auth_settings.is_playground_proxy_allowed': becomes(1),
    },
  },
  ScimMapping: {
    values: {
      role: (from, to) => roles.indexOf(String(to)) > roles.indexOf(String(from)),
      scim_group_name: unknown,
      workspace_id: unknown,
    },
    creating: true,
  },
  ServiceAccount: {
    values: {
      'roles.*': gives,
      status: noLonger('disabled'),
      ...rotationRules,
      name: unknown,
      workspace_id: guards,
    },
    creating: true,
  },
  TenantServiceGroup: { values: {} },
};

function listOf(value: JudgedValue): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function momentsOfRun(value: JudgedValue): string[] {
  const named = listOf(value).map((word) => (/^(input|before)/.test(word) ? 'input' : 'output'));
  return named.length === 0 ? ['input', 'output'] : named;
}

function holdsAll(list: readonly string[], members: readonly string[]): boolean {
  return members.every((member) => list.includes(member));
}

/** Both sides of an update or a replacement. */
export interface Sides {
  readonly live: Spec;
  readonly desired: Spec;
}

/** Returns the differences of one resource that loosen access. */
export function findLoosening(
  kind: KindName,
  differences: readonly Difference[],
  { live, desired }: Sides,
): ReadonlySet<Difference> {
  const moved = movedValues(differences);
  const { fields = {}, values } = rules[kind];
  const isLoose = (difference: Difference): boolean => {
    if (difference.difference === 'recorded' || moved.has(keyOf(difference))) return false;
    const segments = segmentsOf(difference.path);
    const field = segments[0]!;
    const whole = fields[field];
    if (whole !== undefined) return whole(live[field], desired[field]);
    const entry = valueAt(live, segmentsOf(difference.livePath).slice(0, 2));
    return valuesLoosen(values, difference, { segments, entry });
  };
  return new Set(differences.filter(isLoose));
}

/** Returns whether the creation or deletion itself loosens access. */
export function loosensAsWhole({
  action,
  identity,
}: Pick<DraftChange, 'action' | 'identity'>): boolean {
  const { creating = false, deleting = false } = rules[identity.kind];
  return action === 'create' ? creating : action === 'delete' && deleting;
}

function valuesLoosen(values: Rules, difference: Difference, spot: JudgedPath): boolean {
  const { segments } = spot;
  const [from, to] = sidesOf(difference);
  if (!isNestedSide(from) && !isNestedSide(to)) {
    return ruleAt(values, segments)?.(from, to, spot) ?? false;
  }
  const own = ruleAt(values, segments);
  if (own?.(from, to, spot)) return true;
  // A removed target takes its own guards along.
  const isTarget = segments.at(-2) === 'targets';
  const gone = isTarget ? [] : leafValues(from ?? null, segments);
  const come = leafValues(to ?? null, segments);
  return (
    gone.some(({ segments: at, value }) => removalLoosens(ruleAt(values, at), value, at, spot)) ||
    come.some(({ segments: at, value }) => additionLoosens(ruleAt(values, at), value, at, spot))
  );
}

/** Judges values added together with others, where other rules judge the whole. */
function additionLoosens(
  rule: Judge | undefined,
  value: SpecJson,
  segments: readonly string[],
  spot: JudgedPath,
): boolean {
  if (rule === undefined || !ofAdditions.includes(rule)) return false;
  return rule(undefined, value, { ...spot, segments });
}

function removalLoosens(
  rule: Judge | undefined,
  value: SpecJson,
  segments: readonly string[],
  spot: JudgedPath,
): boolean {
  if (rule === undefined || ofWholes.includes(rule)) return false;
  return rule(value, undefined, { ...spot, segments });
}

function ruleAt(values: Rules, segments: readonly string[]): Judge | undefined {
  return Object.entries(values).find(([pattern]) => matchesPattern(pattern, segments))?.[1];
}

function sidesOf({ difference, from, to }: Difference): [JudgedValue, JudgedValue] {
  return [difference === 'added' ? undefined : from, difference === 'removed' ? undefined : to];
}

function isNestedSide(value: JudgedValue): boolean {
  return value !== undefined && isNested(value);
}

/**
 * Returns entries that a list contains before and after at another index: nothing was added or
 * removed.
 */
function movedValues(differences: readonly Difference[]): ReadonlySet<string> {
  const keysOf = (kind: Difference['difference']): Set<string> =>
    new Set(differences.filter(({ difference }) => difference === kind).map(keyOf));
  const [added, removed] = [keysOf('added'), keysOf('removed')];
  return new Set([...added].filter((key) => removed.has(key)));
}

function keyOf({ path, livePath, difference, from, to }: Difference): string {
  const value = difference === 'removed' ? from : to;
  const place = difference === 'added' ? path : livePath;
  return `${place.slice(0, place.lastIndexOf('/'))} ${JSON.stringify(value)}`;
}
