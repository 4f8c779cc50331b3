/** Defines how responses are cached: identical requests only, or also those whose question has the same meaning. */
import { z } from 'zod';
import { isObject } from '../json/read-object.ts';
import { providerNameForm, providerNamePattern } from '../services/provider-addresses.ts';
import { described } from '../wire/described.ts';
import type { Fault } from '../wire/fault.ts';

/** Callers that share the responses of a semantic cache, always within one workspace. */
const scopes = ['key', 'config', 'workspace'] as const;
export type CacheScope = (typeof scopes)[number];

const usual = {
  maxAgeSeconds: 604_800,
  threshold: 0.95,
  scope: 'key',
  timeoutMs: 1_000,
} as const;

const Embedding = z.looseObject({
  provider: described(
    z.string().regex(providerNamePattern, `must have ${providerNameForm}`).optional(),
    'Provider of the workspace that embeds questions, such as @openai; by default that of the target.',
  ),
  model: described(z.string().min(1).max(255), 'Model that embeds questions.'),
  request_timeout: described(
    z.int().min(1).max(10_000).optional(),
    'Milliseconds after which the search ends without a result; 1000 by default.',
  ),
});

/** The field `cache` of a level. */
export const CacheFields = z.looseObject({
  mode: described(
    z.enum(['simple', 'semantic']),
    'Whether cached requests must be identical (simple) or may have the same meaning (semantic).',
  ),
  max_age: described(
    z.int().min(0).max(7_776_000).optional(),
    'How long a response is cached, in seconds.',
  ),
  threshold: described(
    z.number().min(0.5).max(1).optional(),
    'Least cosine similarity of two questions that share a response; 0.95 by default.',
  ),
  scope: described(
    z.enum(scopes).optional(),
    'Which callers of a workspace share responses: those of one key (default), of one config, or all.',
  ),
  embedding: described(Embedding.optional(), 'Model that turns questions into vectors.'),
});

/** Settings of the search for questions with the same meaning. */
export interface SemanticSettings {
  /** Least cosine similarity, 0.5 to 1. */
  readonly threshold: number;
  readonly scope: CacheScope;
  /** `@slug`; null means the provider of the target. */
  readonly provider: string | null;
  readonly model: string;
  /** Bound of the whole search, milliseconds. */
  readonly timeoutMs: number;
}

export interface CacheSettings {
  readonly maxAgeSeconds: number;
  /** Null when only identical requests share a response. */
  readonly semantic: SemanticSettings | null;
}

/** Reads the field `cache` of a validated level; null without a cache. */
export function cacheSettingsOf(value: unknown): CacheSettings | null {
  if (value === 'simple' || value === 'semantic') {
    return { maxAgeSeconds: usual.maxAgeSeconds, semantic: null };
  }
  if (!isObject(value)) return null;
  const { mode, max_age: maxAge } = value;
  return {
    maxAgeSeconds: typeof maxAge === 'number' ? maxAge : usual.maxAgeSeconds,
    semantic: mode === 'semantic' ? semanticOf(value) : null,
  };
}

function semanticOf(cache: Readonly<Record<string, unknown>>): SemanticSettings | null {
  const { threshold, scope, embedding } = cache;
  if (!isObject(embedding) || typeof embedding.model !== 'string') return null;
  const { provider, model, request_timeout: timeoutMs } = embedding;
  return {
    threshold: typeof threshold === 'number' ? threshold : usual.threshold,
    scope: scopes.find((one) => one === scope) ?? usual.scope,
    provider: typeof provider === 'string' ? provider : null,
    model,
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : usual.timeoutMs,
  };
}

const semanticFields = ['threshold', 'scope', 'embedding'] as const;

/** Rules that the schema cannot express; paths start at `cache`. */
export function cacheFaults(cache: z.infer<typeof CacheFields> | undefined): Fault[] {
  if (cache === undefined) return [];
  if (cache.mode === 'simple') {
    return semanticFields.flatMap((name) =>
      cache[name] === undefined
        ? []
        : [{ path: [name], message: 'requires the mode semantic; change the mode or omit it' }],
    );
  }
  const { provider, model } = cache.embedding ?? {};
  const faults: Fault[] = [];
  if (provider?.startsWith('@') === false) {
    const message = 'must be a provider of the workspace, such as @openai';
    faults.push({ path: ['embedding', 'provider'], message });
  }
  if (model?.startsWith('@') === true) {
    const message = 'must be a model alone; name its provider in provider';
    faults.push({ path: ['embedding', 'model'], message });
  }
  return faults;
}

/** Returns a warning when the cache cannot compare meanings; paths start at `cache`. */
export function cacheWarnings(level: unknown): Fault[] {
  const cache = isObject(level) ? level.cache : undefined;
  if (!isObject(cache) || cache.mode !== 'semantic' || cache.embedding !== undefined) return [];
  const message =
    'is required to find questions with the same meaning; identical requests are cached';
  return [{ path: ['embedding'], message }];
}
