/** Selects targets by what is known about them: health, latency, cost and context window. */
import type { ConfigLeaf, ConfigNode } from '../../model/configs/config-tree.ts';
import { weightedTarget } from '../../model/configs/routing.ts';
import type { MeasuredForm, TargetStatistics } from './target-statistics.ts';

/** Why a strategy selected the target that was called, for the response header and the log. */
export type TargetSelection =
  | 'latency'
  | 'cost'
  | 'probe'
  | 'fallback'
  | 'context_window'
  | 'hedge';

/** Looks up facts about a target for one request; null for unknown ones. */
interface TargetFacts {
  /** Upper bound of the cost of the request at the target. */
  readonly costOf: (leaf: ConfigLeaf) => Promise<number | null>;
  /** Most input tokens of the model. */
  readonly windowOf: (leaf: ConfigLeaf) => Promise<number | null>;
  /** Likely input tokens of the request. */
  readonly inputTokens: () => number;
}

export interface SelectionTerms {
  readonly statistics: TargetStatistics;
  /** Identifies the config. */
  readonly mark: string;
  readonly form: MeasuredForm;
  readonly facts: TargetFacts;
}

interface SelectedTarget {
  readonly target: ConfigNode;
  readonly selection: TargetSelection;
}

/** Targets whose latency is within this factor of the fastest are equally fast. */
const equalLatency = 1.2;

/** Identifies a leaf to {@link TargetStatistics}. */
export function statisticsKey(mark: string, { path }: Pick<ConfigLeaf, 'path'>): string {
  return `${mark} ${path}`;
}

/** The targets without the unhealthy ones; all of them when none is healthy. */
export function healthyTargets(
  targets: readonly ConfigNode[],
  terms: SelectionTerms,
): readonly ConfigNode[] {
  const healthy = targets.filter((target) => isHealthy(target, terms));
  return healthy.length === 0 ? targets : healthy;
}

/** The healthy targets in their order, then the others; an unhealthy one keeps its place when it is tested. */
export function healthiestFirst(
  targets: readonly ConfigNode[],
  terms: SelectionTerms,
): readonly ConfigNode[] {
  const isFirst = targets.map((target) => isHealthy(target, terms) || takesTest(target, terms));
  return [...targets.filter((_, at) => isFirst[at]), ...targets.filter((_, at) => !isFirst[at])];
}

/** An unhealthy target that this request tests; null for none. */
export function testedTarget(
  targets: readonly ConfigNode[],
  terms: SelectionTerms,
): ConfigNode | null {
  const ofWeight = targets.filter(({ weight }) => weight > 0);
  return ofWeight.find((one) => !isHealthy(one, terms) && takesTest(one, terms)) ?? null;
}

function isHealthy(target: ConfigNode, { statistics, mark }: SelectionTerms): boolean {
  return leavesBelow(target).some((leaf) => statistics.isHealthy(statisticsKey(mark, leaf)));
}

function takesTest(target: ConfigNode, { statistics, mark }: SelectionTerms): boolean {
  return leavesBelow(target).some((leaf) => statistics.takeTest(statisticsKey(mark, leaf)));
}

/**
 * The fastest target, or one whose latency is unknown or old. Targets that are about as fast share by weight; a
 * weight of 0 excludes a target unless all weights are 0.
 */
export function fastestTarget(
  targets: readonly ConfigNode[],
  { statistics, mark, form }: SelectionTerms,
  chance: number,
): SelectedTarget {
  const candidates = ofSomeWeight(targets);
  const probed = candidates.find((target) =>
    leavesBelow(target).some((leaf) => statistics.takeProbe(statisticsKey(mark, leaf), form)),
  );
  if (probed !== undefined) return { target: probed, selection: 'probe' };
  const latencies = candidates.map((target) =>
    leastOf(leavesBelow(target).map((one) => statistics.latencyOf(statisticsKey(mark, one), form))),
  );
  const bound = (leastOf(latencies) ?? 0) * equalLatency;
  const fastest = candidates.filter(
    (_, at) => (latencies[at] ?? Number.POSITIVE_INFINITY) <= bound,
  );
  const equal = fastest.length === 0 ? candidates : fastest;
  return { target: weightedTarget(equal, chance), selection: 'latency' };
}

/**
 * The cheapest target. Targets of equal cost share by weight; one of unknown cost is selected only if no
 * cost is known; a weight of 0 excludes a target unless all weights are 0.
 */
export async function cheapestTarget(
  targets: readonly ConfigNode[],
  { facts }: SelectionTerms,
  chance: number,
): Promise<SelectedTarget> {
  const candidates = ofSomeWeight(targets);
  const costs = await Promise.all(
    candidates.map(async (target) =>
      leastOf(await Promise.all(leavesBelow(target).map((leaf) => facts.costOf(leaf)))),
    ),
  );
  const least = leastOf(costs);
  const cheapest = candidates.filter((_, at) => costs[at] === least);
  return { target: weightedTarget(cheapest, chance), selection: 'cost' };
}

/** The targets whose context window the input may fit into; all of them when it fits into none. */
export async function fittingTargets(
  targets: readonly ConfigNode[],
  { facts }: SelectionTerms,
): Promise<readonly ConfigNode[]> {
  const input = facts.inputTokens();
  const fits = await Promise.all(
    targets.map(async (target) => {
      const windows = await Promise.all(leavesBelow(target).map((leaf) => facts.windowOf(leaf)));
      return windows.some((window) => window === null || input <= window);
    }),
  );
  const fitting = targets.filter((_, at) => fits[at]);
  return fitting.length === 0 ? targets : fitting;
}

function ofSomeWeight(targets: readonly ConfigNode[]): readonly ConfigNode[] {
  const weighted = targets.filter(({ weight }) => weight > 0);
  return weighted.length === 0 ? targets : weighted;
}

function leastOf(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((one) => one !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function leavesBelow(node: ConfigNode): readonly ConfigLeaf[] {
  return node.kind === 'leaf' ? [node] : node.targets.flatMap(leavesBelow);
}
