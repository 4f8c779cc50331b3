/** Walks the target tree of a config: selects which target is called, and which one next when it fails. */
import type { ConditionSubject } from '../../model/configs/conditions.ts';
import type { ConfigBranch, ConfigLeaf, ConfigNode } from '../../model/configs/config-tree.ts';
import { conditionalTarget, stickyChance, weightedTarget } from '../../model/configs/routing.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { discardResponse } from './attempt.ts';
import type { Breakers } from './breaker.ts';
import { isBodyConsumed, type TargetOutcome } from './outcome.ts';
import type { CallContext } from './request-context.ts';

export interface WalkOptions {
  /** Identifies the config to the circuit breakers. */
  readonly mark: string;
  readonly subject: ConditionSubject;
  readonly now: number;
  readonly breakers: Breakers;
  readonly caller: Pick<Caller, 'isGone'>;
  /** Throws a GatewayError when another target would not help, with the exceptions in {@link fallBack}. */
  readonly call: (leaf: ConfigLeaf) => Promise<TargetOutcome>;
  /** Random number from 0 to below 1. */
  readonly chance: () => number;
}

/** Calls the targets that the config selects and notes the outcome for the log entry. */
export async function callTargets<Context extends CallContext>(
  context: Context,
  call: (context: Context, leaf: ConfigLeaf) => Promise<TargetOutcome>,
): Promise<TargetOutcome> {
  const { config, draft } = context;
  const { root } = config;
  const outcome =
    root.kind === 'leaf' && root.breaker === null
      ? await call(context, root)
      : await walkConfig(root, walkOptionsOf(context, call));
  draft.setOutcome(outcome);
  return outcome;
}

function walkOptionsOf<Context extends CallContext>(
  context: Context,
  call: (context: Context, leaf: ConfigLeaf) => Promise<TargetOutcome>,
): WalkOptions {
  const { services, exchange, config, caller } = context;
  const { params, metadata, path, now } = exchange;
  return {
    mark: config.mark,
    now,
    breakers: services.breakers,
    caller,
    chance: Math.random,
    subject: { metadata, params, url: { pathname: `/v1${path}` } },
    call: (leaf) => call(context, leaf),
  };
}

/** Resolves to the outcome of the selected target, or of the last one that was tried. */
export function walkConfig(node: ConfigNode, options: WalkOptions): Promise<TargetOutcome> {
  if (node.kind === 'leaf') return callLeaf(node, options);
  switch (node.mode) {
    case 'single':
      return walkConfig(node.targets[0]!, options);
    case 'loadbalance':
      return walkConfig(balancedTarget(node, options), options);
    case 'fallback':
      return fallBack(node, options);
    case 'conditional':
      return walkConfig(matchingTarget(node, options), options);
  }
}

function callLeaf(leaf: ConfigLeaf, options: WalkOptions): Promise<TargetOutcome> {
  return leaf.breaker === null ? options.call(leaf) : callWithBreaker(leaf, options);
}

/** Calls a target and reports its result to the circuit breaker. */
async function callWithBreaker(leaf: ConfigLeaf, options: WalkOptions): Promise<TargetOutcome> {
  const { breakers, mark } = options;
  const isProbe = breakers.begin(mark, leaf);
  let isReported = false;
  try {
    const outcome = await options.call(leaf);
    const result = breakerResultOf(outcome);
    if (result !== undefined) {
      isReported = true;
      breakers.note(mark, leaf, result);
    }
    return outcome;
  } finally {
    if (isProbe && !isReported) breakers.giveUp(mark, leaf);
  }
}

/** The provider's status; null for a failed call; undefined when the provider was not called. */
function breakerResultOf(outcome: TargetOutcome): number | null | undefined {
  switch (outcome.kind) {
    case 'live':
      return outcome.status;
    case 'failed':
      return null;
    case 'cached':
      return undefined;
    case 'judged':
    case 'local':
      return outcome.response.providerStatus ?? undefined;
  }
}

async function fallBack(branch: ConfigBranch, options: WalkOptions): Promise<TargetOutcome> {
  const { targets, areOpen } = callableTargets(branch, options);
  let last: TargetOutcome | null = null;
  for (const target of targets) {
    // Another request may have opened the breaker of this target, or may be probing it.
    if (last !== null && !areOpen && !isCallable(target, options)) continue;
    if (last !== null) discardResponse(last);
    last = null;
    try {
      last = await walkConfig(target, options);
    } catch (thrown) {
      const isLast = target === targets.at(-1);
      if (isLast || !(namesNoProvider(target, thrown) || lacksSecret(branch, thrown))) throw thrown;
      continue;
    }
    if (options.caller.isGone || isBodyConsumed(last) || !isFailure(branch, last.status)) {
      return last;
    }
  }
  return last!;
}

/** Whether the request, to which the target leaves the provider, names none that exists. */
function namesNoProvider(target: ConfigNode, thrown: unknown): boolean {
  if (target.kind !== 'leaf' || !target.settings.isPassthrough) return false;
  const code = thrown instanceof GatewayError ? thrown.code : null;
  return code === 'provider_missing' || code === 'provider_unknown';
}

/** Whether a secret of the target cannot be read now and the branch falls back on that status. */
function lacksSecret(branch: ConfigBranch, thrown: unknown): boolean {
  const isLacking = thrown instanceof GatewayError && thrown.code === 'secret_unavailable';
  return isLacking && isFailure(branch, thrown.status);
}

function isFailure({ onStatusCodes }: ConfigBranch, status: number): boolean {
  return onStatusCodes === null ? status < 200 || status > 299 : onStatusCodes.has(status);
}

function balancedTarget(branch: ConfigBranch, options: WalkOptions): ConfigNode {
  const { sticky, path } = branch;
  const chance =
    sticky === null ? options.chance() : stickyChance(sticky, path, options.subject, options.now);
  return weightedTarget(callableTargets(branch, options).targets, chance);
}

/** The targets whose breaker permits a call; all of them, with `areOpen`, when no breaker does. */
function callableTargets({ targets }: ConfigBranch, options: WalkOptions) {
  const callable = targets.filter((target) => isCallable(target, options));
  const areOpen = callable.length === 0;
  return { targets: areOpen ? targets : callable, areOpen };
}

/** Whether the breaker of any leaf of the node permits a call. */
function isCallable(node: ConfigNode, options: WalkOptions): boolean {
  return node.kind === 'leaf'
    ? !options.breakers.isOpen(options.mark, node)
    : node.targets.some((target) => isCallable(target, options));
}

function matchingTarget(branch: ConfigBranch, options: WalkOptions): ConfigNode {
  const target = conditionalTarget(branch, options.subject);
  if (target !== null) return target;
  const message = `No condition of ${branch.path} matches, and it has no default`;
  throw new GatewayError('no_target', message, branch.path);
}
