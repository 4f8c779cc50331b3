/** Says in words what the state of an API key means for its callers, and which scopes guard it. */
import type { RowOf } from '../../api/client.ts';

export type Key = RowOf<'/v1/api-keys'>;

const soonMs = 7 * 86_400_000;

/** The state of a key; an active key within a week of its end is `expiring`. */
export function stateOf({ status, expires_at: at }: Key): string {
  const isEnding = at !== null && Date.parse(at) - Date.now() < soonMs;
  return status === 'active' && isEnding ? 'expiring' : status;
}

const experiences: Readonly<Record<string, string>> = {
  active: 'Callers are served.',
  expiring: 'Callers are served until the key expires, then they get 401.',
  exhausted: 'Callers get 412: the budget is used up. Raise it, reset it, or wait for the reset.',
  expired: 'Callers get 401: the key has expired. Give it a new end, or create another key.',
};

/** Says what callers of a key in this state experience. */
export const experienceOf = (state: string): string => experiences[state] ?? '';

/** The scope that an action on a key of this type needs: `workspace_service_api_keys.rotate`. */
export function scopeOf(type: Key['type'], action: 'create' | 'update' | 'delete' | 'rotate') {
  return `${type.replace('-', '_')}_api_keys.${action}`;
}

/** `weekly`, `every 30 days`, `once`. */
export function rotationText({ rotation_policy: policy }: Key): string {
  if (policy === null) return 'by hand';
  const { rotation_period: period, rotation_period_days: days } = policy;
  return period ?? (days == null ? 'once' : `every ${days} days`);
}
