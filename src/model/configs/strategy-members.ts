/** Validates members of a strategy that only some of its modes use. */
import type { Fault } from '../wire/fault.ts';
import type { Level } from './config-level.ts';

/** Modes that use each member. */
const modesOf = {
  balance_by: ['loadbalance'],
  skip_unhealthy: ['loadbalance', 'fallback'],
  on_context_window: ['fallback'],
} as const;

/** Paths start at the strategy. */
export function strategyMemberFaults(strategy: Level['strategy']): Fault[] {
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
  return faults;
}
