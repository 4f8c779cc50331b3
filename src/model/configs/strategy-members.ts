/** Validates members of a strategy that only some of its modes use. */
import type { Fault } from '../wire/fault.ts';
import type { Level } from './config-level.ts';

/** Modes that use each member. */
const modesOf = {
  balance_by: ['loadbalance'],
  skip_unhealthy: ['loadbalance', 'fallback'],
  on_context_window: ['fallback'],
  hedge: ['single', 'loadbalance', 'fallback'],
} as const;

/** Members with which a target is judged by guardrails of its own. */
const guardrailMembers = [
  'before_request_hooks',
  'input_guardrails',
  'after_request_hooks',
  'output_guardrails',
];

/** Guardrails judge the request and the answer once, so both requests must have the same. */
function hedgeFaults(targets: readonly Readonly<Record<string, unknown>>[]): Fault[] {
  const path = ['hedge'];
  if (targets.some((one) => Array.isArray(one.targets))) {
    const message = 'requires targets without targets of their own; move it to their strategy';
    return [{ path, message }];
  }
  if (targets.some((one) => guardrailMembers.some((name) => one[name] !== undefined))) {
    const message = 'requires targets without guardrails of their own; move them beside strategy';
    return [{ path, message }];
  }
  return [];
}

/** Paths start at the strategy. */
export function strategyMemberFaults({ strategy, targets = [] }: Level): Fault[] {
  if (strategy === undefined) return [];
  const faults: Fault[] = [];
  for (const [name, modes] of Object.entries(modesOf)) {
    const isUsed = modes.some((mode) => mode === strategy.mode);
    if (strategy[name] === undefined || isUsed) continue;
    const message = `requires the mode ${modes.join(' or ')}; change the mode or omit it`;
    faults.push({ path: [name], message });
  }
  const isByWeight = (strategy.balance_by ?? 'weight') === 'weight';
  if (strategy.sticky?.enabled === true && !isByWeight) {
    const message = 'requires balance_by weight, because the fastest or cheapest target changes';
    faults.push({ path: ['sticky'], message });
  }
  return strategy.hedge === undefined ? faults : [...faults, ...hedgeFaults(targets)];
}
