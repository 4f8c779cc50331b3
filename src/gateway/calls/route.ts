/** Knows how a config is walked: which target is called, and which next when one fails. */
import type { Subject } from '../../model/conditions.ts';
import type { Branch, ConfigNode, Leaf } from '../../model/config-tree.ts';
import { conditionalTarget, stickyChance, weightedTarget } from '../../model/routing.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { type Attempted, isSpent, letGo } from './attempt.ts';
import type { Breakers } from './breaker.ts';

export interface Walk {
  /** Of the config, for the circuit breaker. */
  readonly mark: string;
  readonly subject: Subject;
  readonly now: number;
  readonly breakers: Breakers;
  readonly caller: Caller;
  /** Calls one target; throws a GatewayError that no other target can mend, save where {@link fallBack} says so. */
  readonly call: (leaf: Leaf) => Promise<Attempted>;
  /** From 0 to below 1. */
  readonly chance: () => number;
}

/** The answer that the caller gets: that of the target chosen, of several the last that was tried. */
export function walk(node: ConfigNode, to: Walk): Promise<Attempted> {
  if (node.kind === 'leaf') return callLeaf(node, to);
  switch (node.mode) {
    case 'single':
      return walk(node.targets[0]!, to);
    case 'loadbalance':
      return walk(balanced(node, to), to);
    case 'fallback':
      return fallBack(node, to);
    case 'conditional':
      return walk(chosen(node, to), to);
  }
}

function callLeaf(leaf: Leaf, to: Walk): Promise<Attempted> {
  return leaf.breaker === null ? to.call(leaf) : callWatched(leaf, to);
}

/** A breaker learns what comes of it. */
async function callWatched(leaf: Leaf, to: Walk): Promise<Attempted> {
  const { breakers, mark } = to;
  const isTry = breakers.begin(mark, leaf);
  let hasLearned = false;
  try {
    const attempted = await to.call(leaf);
    const { kept, guarded, error, status } = attempted;
    // An answer that was given before says nothing of the target, and a request that was not sent neither.
    const said = guarded === undefined ? status : guarded.providerStatus;
    if (kept === null && said !== null) {
      hasLearned = true;
      breakers.note(mark, leaf, error === null ? said : null);
    }
    return attempted;
  } finally {
    if (isTry && !hasLearned) breakers.giveUp(mark, leaf);
  }
}

async function fallBack(branch: Branch, to: Walk): Promise<Attempted> {
  const { targets, areOpen } = callable(branch, to);
  let last: Attempted | null = null;
  for (const target of targets) {
    // Since the walk began, others may have opened it, or one of them may be trying it.
    if (last !== null && !areOpen && !isClosed(target, to)) continue;
    if (last !== null) letGo(last);
    last = null;
    try {
      last = await walk(target, to);
    } catch (thrown) {
      const isOver = target === targets.at(-1);
      if (isOver || !(namesNone(target, thrown) || lacksSecret(branch, thrown))) throw thrown;
      continue;
    }
    if (to.caller.isGone || isSpent(last) || !isFailure(branch, last.status)) return last;
  }
  return last!;
}

/** Of a target that leaves the provider to the request, which names none that there is. */
function namesNone(target: ConfigNode, thrown: unknown): boolean {
  if (target.kind !== 'leaf' || !target.settings.isPassthrough) return false;
  const code = thrown instanceof GatewayError ? thrown.code : null;
  return code === 'provider_missing' || code === 'provider_unknown';
}

/** Of a target whose account takes a value that no secret manager gives now. */
function lacksSecret(branch: Branch, thrown: unknown): boolean {
  const isIt = thrown instanceof GatewayError && thrown.code === 'secret_unavailable';
  return isIt && isFailure(branch, thrown.status);
}

function isFailure({ onStatusCodes }: Branch, status: number): boolean {
  return onStatusCodes === null ? status < 200 || status > 299 : onStatusCodes.has(status);
}

function balanced(branch: Branch, to: Walk): ConfigNode {
  const { sticky, path } = branch;
  const chance = sticky === null ? to.chance() : stickyChance(sticky, path, to.subject, to.now);
  return weightedTarget(callable(branch, to).targets, chance);
}

/** Those that may be called; all of them where none may, as they `areOpen`. */
function callable({ targets }: Branch, to: Walk) {
  const closed = targets.filter((target) => isClosed(target, to));
  const areOpen = closed.length === 0;
  return { targets: areOpen ? targets : closed, areOpen };
}

/** Whether some of it may be called. */
function isClosed(node: ConfigNode, to: Walk): boolean {
  return node.kind === 'leaf'
    ? !to.breakers.isOpen(to.mark, node)
    : node.targets.some((target) => isClosed(target, to));
}

function chosen(branch: Branch, to: Walk): ConfigNode {
  const target = conditionalTarget(branch, to.subject);
  if (target !== null) return target;
  const message = `No condition of ${branch.path} holds, and it has no default`;
  throw new GatewayError('no_target', message, branch.path);
}
