/** Knows which target of a config a request goes to; pure, so that the same request leads to the same place. */
import { hash } from 'node:crypto';
import { holds, type Subject } from './conditions.ts';
import type { Branch, ConfigNode } from './config-tree.ts';

/** The target of the first condition that holds, else the default; null where there is none. */
export function conditionalTarget(branch: Branch, subject: Subject): ConfigNode | null {
  for (const { query, target } of branch.conditions) if (holds(query, subject)) return target;
  return branch.defaultTarget;
}

/**
 * The target that a share of all requests falls to. `chance` is from 0 to below 1; targets of weight
 * 0 get nothing, unless all have none, when each gets the same.
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
 * A chance that is the same for all requests with the same values in these fields, for as long as the
 * time says: the period that `now` lies in is part of it, so that every replica comes to the same.
 */
export function stickyChance(
  sticky: NonNullable<Branch['sticky']>,
  path: string,
  subject: Subject,
  now: number,
): number {
  const values = sticky.fields.map((field) => fieldOf(field, subject));
  const period = Math.floor(now / (Math.max(1, sticky.ttlSeconds) * 1000));
  const digest = hash('sha256', JSON.stringify([path, period, ...values]), 'buffer');
  return digest.readUInt32BE() / 2 ** 32;
}

/** `metadata._user`, `params.model`; a bare name is one of the metadata. */
function fieldOf(field: string, subject: Subject): string {
  const [place, name] = field.includes('.') ? field.split('.', 2) : ['metadata', field];
  const holder = place === 'params' ? subject.params : subject.metadata;
  return String(holder[name!] ?? '');
}
