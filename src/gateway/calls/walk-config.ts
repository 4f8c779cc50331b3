/** Walks the target tree of a config: selects which target is called, and which one next when it fails. */
import type { ConditionSubject } from '../../model/configs/conditions.ts';
import type { ConfigBranch, ConfigLeaf, ConfigNode } from '../../model/configs/config-tree.ts';
import { conditionalTarget, stickyChance, weightedTarget } from '../../model/configs/routing.ts';
import {
  cheapestTarget,
  fastestTarget,
  fittingTargets,
  healthiestFirst,
  healthyTargets,
  type SelectionTerms,
  statisticsKey,
  type TargetSelection,
  testedTarget,
} from '../strategies/select-target.ts';
import type { Caller } from '../transfer/caller.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import { discardResponse } from './attempt.ts';
import type { Breakers } from './breaker.ts';
import { isBodyConsumed, type LiveOutcome, type TargetOutcome } from './outcome.ts';
import type { CallContext } from './request-context.ts';
import { readContextError, selectionTermsOf } from './target-facts.ts';

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
  /** Returns the knowledge of strategies about targets; only called where one needs it. */
  readonly selectionTerms: () => SelectionTerms;
  /** Reads an error of a provider; `isTooLong` if the prompt exceeds the context window of the model. */
  readonly readError: (outcome: LiveOutcome) => Promise<ReadError>;
}

interface ReadError {
  /** The same response, which may be read again. */
  readonly outcome: TargetOutcome;
  readonly isTooLong: boolean;
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
    selectionTerms: () => selectionTermsOf(context),
    readError: (outcome) => readContextError(context, outcome),
  };
}

/** Resolves to the outcome of the selected target, or of the last one that was tried. */
export function walkConfig(node: ConfigNode, options: WalkOptions): Promise<TargetOutcome> {
  if (node.kind === 'leaf') return callLeaf(node, options);
  switch (node.mode) {
    case 'single':
      return walkConfig(node.targets[0]!, options);
    case 'loadbalance':
      return node.skipsUnhealthy
        ? balanceByFacts(node, options)
        : walkConfig(balancedTarget(node, options), options);
    case 'fallback':
      return fallBack(node, options);
    case 'conditional':
      return walkConfig(matchingTarget(node, options), options);
  }
}

function callLeaf(leaf: ConfigLeaf, options: WalkOptions): Promise<TargetOutcome> {
  if (leaf.isMeasured) return callMeasured(leaf, options);
  return leaf.breaker === null ? options.call(leaf) : callWithBreaker(leaf, options);
}

/** Calls a target and records its latency, or its failure. */
async function callMeasured(leaf: ConfigLeaf, options: WalkOptions): Promise<TargetOutcome> {
  const outcome = await (leaf.breaker === null
    ? options.call(leaf)
    : callWithBreaker(leaf, options));
  const status = breakerResultOf(outcome);
  if (status === undefined || options.caller.isGone) return outcome;
  const { statistics, mark, form } = options.selectionTerms();
  const key = statisticsKey(mark, leaf);
  const isFailed = status === null || status >= 500 || status === 429 || status === 408;
  if (isFailed) statistics.note(key, form, null);
  else if (status < 300 && outcome.responseMs !== undefined) {
    statistics.note(key, form, outcome.responseMs);
  }
  return outcome;
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

/** The provider's status; null for a failed call; undefined when the provider was not called, or two were. */
function breakerResultOf(outcome: TargetOutcome): number | null | undefined {
  if (outcome.isHedged === true) return undefined;
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
  const { targets, areOpen } = await orderedTargets(branch, options);
  let last: TargetOutcome | null = null;
  /** Why the next target is called; null for the first target of the branch. */
  let selection = targets[0] === branch.targets[0] ? null : selectionOfSkipped(branch);
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
      selection = 'fallback';
      continue;
    }
    if (selection !== null) last = selectedBy(last, selection);
    if (options.caller.isGone || isBodyConsumed(last)) return last;
    const read: ReadError | null = await contextErrorOf(branch, last, options);
    if (read !== null)
      last = selection === null ? read.outcome : selectedBy(read.outcome, selection);
    if (read?.isTooLong !== true && !isFailure(branch, last.status)) return last;
    selection = read?.isTooLong === true ? 'context_window' : 'fallback';
  }
  return last!;
}

/** The callable targets of a fallback in the order in which they are tried. */
async function orderedTargets(branch: ConfigBranch, options: WalkOptions) {
  const callable = callableTargets(branch, options);
  let { targets } = callable;
  if (branch.onContextWindow) targets = await fittingTargets(targets, options.selectionTerms());
  if (branch.skipsUnhealthy) targets = healthiestFirst(targets, options.selectionTerms());
  return { targets, areOpen: callable.areOpen };
}

/** Why the first target of a fallback was passed over; null where no strategy says so. */
function selectionOfSkipped(branch: ConfigBranch): TargetSelection | null {
  if (branch.onContextWindow) return 'context_window';
  return branch.skipsUnhealthy ? 'fallback' : null;
}

/** The deepest strategy decides. */
function selectedBy(outcome: TargetOutcome, selection: TargetSelection): TargetOutcome {
  return outcome.selection === undefined ? { ...outcome, selection } : outcome;
}

/** Statuses with which providers refuse a prompt that is too long. */
const tooLongStatuses: ReadonlySet<number> = new Set([400, 413, 422]);

/** Null when the branch does not look for such errors, or the response cannot be one. */
async function contextErrorOf(
  { onContextWindow }: ConfigBranch,
  outcome: TargetOutcome,
  { readError }: WalkOptions,
): Promise<ReadError | null> {
  if (!onContextWindow || outcome.kind !== 'live') return null;
  return tooLongStatuses.has(outcome.status) ? readError(outcome) : null;
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
  return weightedTarget(callableTargets(branch, options).targets, chanceOf(branch, options));
}

function chanceOf({ sticky, path }: ConfigBranch, options: WalkOptions): number {
  if (sticky === null) return options.chance();
  return stickyChance(sticky, path, options.subject, options.now);
}

/** Calls a target that is due for a test, or else selects among the healthy ones by weight, latency or cost. */
async function balanceByFacts(branch: ConfigBranch, options: WalkOptions): Promise<TargetOutcome> {
  const terms = options.selectionTerms();
  const { targets } = callableTargets(branch, options);
  const tested = testedTarget(targets, terms);
  if (tested !== null) return selectedBy(await walkConfig(tested, options), 'probe');
  const healthy = healthyTargets(targets, terms);
  const chance = chanceOf(branch, options);
  switch (branch.balanceBy) {
    case 'weight':
      return walkConfig(weightedTarget(healthy, chance), options);
    case 'latency': {
      const { target, selection } = fastestTarget(healthy, terms, chance);
      return selectedBy(await walkConfig(target, options), selection);
    }
    case 'cost': {
      const { target, selection } = await cheapestTarget(healthy, terms, chance);
      return selectedBy(await walkConfig(target, options), selection);
    }
  }
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
