/** Finds the providers that a config names by slug or id. */
import { isObject } from '../json/read-object.ts';

/** A provider that a document names, and the path of the name. */
export interface ProviderReference {
  readonly path: readonly (string | number)[];
  /** Slug or id of the provider, without `@`. */
  readonly provider: string;
}

interface NamedModel {
  readonly path: ProviderReference['path'];
  readonly model: unknown;
}

interface Visit {
  readonly level: Readonly<Record<string, unknown>>;
  readonly path: ProviderReference['path'];
  /** Whether a level above determines the provider, so that a model cannot. */
  readonly isPinned: boolean;
  /** Models that levels above set, the one that takes precedence first. */
  readonly models: readonly [override: NamedModel | null, default_: NamedModel | null];
}

/**
 * Returns every provider that a document names as `@slug`, as `virtual_key`, or before a model as
 * `@slug/model`. Names of services and placeholders of references are not included.
 */
export function providerReferences(document: unknown): ProviderReference[] {
  const references: ProviderReference[] = [];
  const inModels = new Map<string, ProviderReference>();
  const pending = visitsOf([document], [], { isPinned: false, models: [null, null] });
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const { level, path } = visit;
    references.push(...pinsOf(level, path));
    const inherited = inheritedFrom(visit);
    const { targets } = level;
    if (Array.isArray(targets) && targets.length > 0) {
      pending.push(...visitsOf(targets, [...path, 'targets'], inherited).reverse());
    } else if (!inherited.isPinned && level.passthrough !== true) {
      const inModel = modelReference(inherited.models);
      if (inModel !== null) inModels.set(inModel.path.join('.'), inModel);
    }
  }
  return [...references, ...inModels.values()];
}

function visitsOf(
  levels: readonly unknown[],
  path: ProviderReference['path'],
  inherited: Pick<Visit, 'isPinned' | 'models'>,
): Visit[] {
  const isRoot = path.length === 0;
  return levels.flatMap((level, at) =>
    isObject(level) ? [{ level, path: isRoot ? [] : [...path, at], ...inherited }] : [],
  );
}

/** The provider of the embeddings of the cache, and the one that the level itself pins. */
function pinsOf(level: Visit['level'], path: Visit['path']): ProviderReference[] {
  return [...embeddingPinOf(level, path), ...targetPinOf(level, path)];
}

function embeddingPinOf({ cache }: Visit['level'], path: Visit['path']): ProviderReference[] {
  const embedding = isObject(cache) ? cache.embedding : undefined;
  const provider = isObject(embedding) ? embedding.provider : undefined;
  if (typeof provider !== 'string' || !provider.startsWith('@')) return [];
  return [{ path: [...path, 'cache', 'embedding', 'provider'], provider: provider.slice(1) }];
}

function targetPinOf(level: Visit['level'], path: Visit['path']): ProviderReference[] {
  const { provider, virtual_key: key } = level;
  if (typeof provider === 'string' && provider.startsWith('@')) {
    return [{ path: [...path, 'provider'], provider: provider.slice(1) }];
  }
  if (typeof key !== 'string') return [];
  return [{ path: [...path, 'virtual_key'], provider: key.replace(/^@/, '') }];
}

function inheritedFrom({ level, path, isPinned, models }: Visit) {
  const [override, usual] = models;
  const named = (field: string, above: NamedModel | null): NamedModel | null => {
    const params = level[field];
    if (!isObject(params) || params.model === undefined) return above;
    return { path: [...path, field, 'model'], model: params.model };
  };
  return {
    isPinned: isPinned || level.provider !== undefined || level.virtual_key !== undefined,
    models: [named('override_params', override), named('default_params', usual)] as const,
  };
}

function modelReference([override, usual]: Visit['models']): ProviderReference | null {
  const { path, model } = override ?? usual ?? { path: [], model: null };
  const provider = typeof model === 'string' ? /^@([^/]+)\//.exec(model)?.[1] : undefined;
  return provider === undefined ? null : { path, provider };
}
