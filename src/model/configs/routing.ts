/** Selects the target of a config for a request, deterministically. */
import { hash } from 'node:crypto';
import { type ConditionSubject, matchesQuery } from './conditions.ts';
import type { ConfigBranch, ConfigNode } from './config-tree.ts';

/** Returns the target of the first condition that matches, else the default; null if there is none. */
export function conditionalTarget(
  branch: ConfigBranch,
  subject: ConditionSubject,
): ConfigNode | null {
  for (const { query, target } of branch.conditions)
    if (matchesQuery(query, subject)) return target;
  return branch.defaultTarget;
}

/**
 * Selects a target by weight. `chance` is in [0, 1). A target of weight 0 is never selected, unless all
 * weights are 0; then all targets are equally likely.
 */
export function weightedTarget(targets: readonly ConfigNode[], chance: number): ConfigNode {
  const total = targets.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return targets[Math.floor(chance * targets.length)]!;
  let left = chance * total;
  for (const target of targets) {
    if (target.weight > 0 && left < target.weight) return target;
    left -= target.weight;
  }
  return targets.findLast(({ weight }) => weight > 0)!;
}

/**
 * Returns a number in [0, 1) that is the same for all requests with equal values in the sticky fields.
 * The period that contains `now` is part of the hash, so every replica computes the same number.
 */
export function stickyChance(
  sticky: NonNullable<ConfigBranch['sticky']>,
  path: string,
  subject: ConditionSubject,
  now: number,
): number {
  const values = sticky.fields.map((field) => fieldOf(field, subject));
  const period = Math.floor(now / (Math.max(1, sticky.ttlSeconds) * 1000));
  const digest = hash('sha256', JSON.stringify([path, period, ...values]), 'buffer');
  return digest.readUInt32BE() / 2 ** 32;
}

/** Reads `metadata._user` or `params.model`; a name without a dot is metadata. */
function fieldOf(field: string, subject: ConditionSubject): string {
  const [source, name] = field.includes('.') ? field.split('.', 2) : ['metadata', field];
  const holder = source === 'params' ? subject.params : subject.metadata;
  return String(holder[name!] ?? '');
}
