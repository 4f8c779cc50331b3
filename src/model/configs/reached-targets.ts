/** Finds the targets of a config that requests for a model can reach, and the models that its conditions name. */
import { isObject } from '../json/read-object.ts';
import { type ConditionSubject, matchesQuery } from './conditions.ts';
import type { ConfigLeaf, ConfigNode } from './config-tree.ts';

/** Paths of the requests that name a model in their body. */
const modelPaths = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/responses',
  '/v1/completions',
  '/v1/embeddings',
];

export function leavesOf(node: ConfigNode): ConfigLeaf[] {
  return node.kind === 'leaf' ? [node] : node.targets.flatMap(leavesOf);
}

/** The targets that some request for `model` with this metadata can reach. */
export function targetsForModel(
  root: ConfigNode,
  model: string,
  metadata: ConditionSubject['metadata'],
): ReadonlySet<ConfigLeaf> {
  const reached = new Set<ConfigLeaf>();
  for (const pathname of modelPaths) {
    addReached(root, { metadata, params: { model }, url: { pathname } }, reached);
  }
  return reached;
}

function addReached(node: ConfigNode, subject: ConditionSubject, reached: Set<ConfigLeaf>): void {
  if (node.kind === 'leaf') {
    reached.add(node);
    return;
  }
  const { targets, mode } = node;
  if (mode === 'conditional') {
    addMatching(node, subject, reached);
    return;
  }
  const next = mode === 'single' ? targets.slice(0, 1) : targets;
  for (const target of mode === 'loadbalance' ? weighted(next) : next) {
    addReached(target, subject, reached);
  }
}

/** Without those of weight 0, unless all have it. */
function weighted(targets: readonly ConfigNode[]): readonly ConfigNode[] {
  const chosen = targets.filter(({ weight }) => weight > 0);
  return chosen.length === 0 ? targets : chosen;
}

function addMatching(
  { conditions, defaultTarget }: Extract<ConfigNode, { kind: 'branch' }>,
  subject: ConditionSubject,
  reached: Set<ConfigLeaf>,
): void {
  for (const { query, target } of conditions) {
    // Other members of the body are unknown, so requests may match or not.
    const isOpen = namesOtherParam(query);
    if (!isOpen && !matchesQuery(query, subject)) continue;
    addReached(target, subject, reached);
    if (!isOpen) return;
  }
  if (defaultTarget !== null) addReached(defaultTarget, subject, reached);
}

function namesOtherParam(query: unknown): boolean {
  if (!isObject(query)) return false;
  return Object.entries(query).some(([key, expected]) => {
    if (Array.isArray(expected)) return expected.some(namesOtherParam);
    return key.startsWith('params.') && key !== 'params.model';
  });
}

/** The models that conditions compare with the requested one, in order. */
export function modelsInConditions(root: ConfigNode): string[] {
  if (root.kind === 'leaf') return [];
  const own = root.conditions.flatMap(({ query }) => modelsInQuery(query));
  return [...new Set([...own, ...root.targets.flatMap(modelsInConditions)])];
}

function modelsInQuery(query: unknown): string[] {
  if (!isObject(query)) return [];
  return Object.entries(query).flatMap(([key, expected]) => {
    if ((key === '$and' || key === '$or') && Array.isArray(expected)) {
      return expected.flatMap(modelsInQuery);
    }
    return key === 'params.model' ? textsIn(expected) : [];
  });
}

function textsIn(expected: unknown): string[] {
  if (typeof expected === 'string') return [expected];
  if (!isObject(expected)) return [];
  const { $eq: equal, $in: some } = expected;
  return [equal, ...(Array.isArray(some) ? some : [])].filter((one) => typeof one === 'string');
}
