/** Finds the keys (`api_key`) in a config document, and where each of them is sent. */
import type { ConfigDocument } from './config.ts';
import { buildConfigTree, type ConfigNode } from './config-tree.ts';

type Path = readonly (string | number)[];
type Level = Readonly<Record<string, unknown>>;

/** Copies a document with the `api_key` of every level replaced; levels without keys are shared. */
export function mapConfigKeys(
  document: ConfigDocument,
  replace: (value: unknown, path: Path) => unknown,
): ConfigDocument {
  return mapLevel(document, [], replace);
}

function mapLevel(
  level: Level,
  path: Path,
  replace: (value: unknown, path: Path) => unknown,
): ConfigDocument {
  const copy: ConfigDocument = { ...level };
  if (Object.hasOwn(level, 'api_key') && level.api_key !== null) {
    copy.api_key = replace(level.api_key, [...path, 'api_key']);
  }
  if (Array.isArray(level.targets)) {
    copy.targets = level.targets.map((target: Level, at) =>
      mapLevel(target, [...path, 'targets', at], replace),
    );
  }
  return copy;
}

/**
 * Returns the destinations of each key, by its path as JSON: the provider, host and account of every
 * target that uses the key, inherited settings included.
 */
export function keyDestinations(document: ConfigDocument): Map<string, Set<string>> {
  const destinations = new Map<string, Set<string>>();
  const marked = mapConfigKeys(document, (_, path) => {
    destinations.set(JSON.stringify(path), new Set());
    return JSON.stringify(path);
  });
  const pending: ConfigNode[] = [buildConfigTree(marked)];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.kind === 'branch') {
      pending.push(...node.targets);
      continue;
    }
    const { apiKey, provider, virtualKey, customHost, isPassthrough, account } = node.settings;
    if (apiKey === null) continue;
    const fields = Object.entries(account).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const destination = [provider, virtualKey, customHost, isPassthrough, fields];
    destinations.get(apiKey)?.add(JSON.stringify(destination));
  }
  return destinations;
}
