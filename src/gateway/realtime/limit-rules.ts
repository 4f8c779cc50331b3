/** States how limits apply to a realtime session. */
import type { SessionTerms } from './session-terms.ts';

/** How limits apply to a session. */
export interface LimitRules {
  /** A limit may refuse a response, so that the gateway decides which responses are created. */
  readonly isGoverned: boolean;
  /** A limit counts tokens or cost, so that the usage of everything must be bounded. */
  readonly isBounded: boolean;
}

export async function limitRulesAt(terms: SessionTerms, now: number): Promise<LimitRules> {
  const hard = (await terms.limitsAt(now)).filter(({ isHard }) => isHard);
  return { isGoverned: hard.length > 0, isBounded: hard.some(({ type }) => type !== 'requests') };
}

/** Whether a session that began under `rules` may go on: the limits in force now require no stricter rules. */
export async function permitsRules(
  rules: LimitRules,
  terms: SessionTerms,
  now: number,
): Promise<boolean> {
  const current = await limitRulesAt(terms, now);
  const isStricter =
    (current.isGoverned && !rules.isGoverned) || (current.isBounded && !rules.isBounded);
  return !isStricter;
}
