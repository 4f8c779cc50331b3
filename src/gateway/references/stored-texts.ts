/** Finds what a request names that contains texts which a provider stores, so that the gateway does not see them. */
import { endpointAt } from '../../model/endpoints/catalogue.ts';
import type { ObjectKind } from '../../model/endpoints/object-kind.ts';
import { isObject } from '../../model/json/read-object.ts';
import type { Slices } from '../../slices.ts';
import type { Exchange } from '../callers/exchange.ts';
import { ownedPathOf } from './owned-path.ts';
import { findReferences } from './owned-references.ts';

/** Objects without texts for a model: containers of code, fine-tuning jobs, videos. */
const textlessKinds: ReadonlySet<ObjectKind> = new Set<ObjectKind>([
  'containers',
  'fine_tuning_jobs',
  'videos',
  'video_characters',
]);

/**
 * Returns the member that names such texts, or `path` where the path does; null where the request contains everything
 * that its model receives. Responses and conversations that the gateway itself continues are part of the request.
 */
export function* findStoredTexts({
  request,
  path,
  params,
  newResponse,
}: Pick<Exchange, 'request' | 'path' | 'params' | 'newResponse'>): Slices<string | null> {
  const endpoint = endpointAt(request.method, path);
  if (endpoint === null || request.method !== 'POST') return null;
  const isModelCalled = endpoint.metering !== 'nothing';
  const owned = ownedPathOf(request.method, path);
  if (isModelCalled && owned !== null && owned.id !== null) return 'path';
  const { prompt } = params;
  if (isObject(prompt) && typeof prompt.id === 'string') return 'prompt';
  const references = endpoint.references;
  if (!isModelCalled || references.length === 0) return null;
  const isContinued = newResponse?.isContinued === true;
  for (const { kind, param } of yield* findReferences(params, { kind: null, references })) {
    const isExpanded = isContinued && param === 'previous_response_id';
    if (!textlessKinds.has(kind) && !isExpanded) return param ?? 'path';
  }
  return null;
}
