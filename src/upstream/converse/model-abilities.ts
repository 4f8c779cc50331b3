/** States which members of Converse the models of a vendor accept, by the name of the model. */

/** Vendors whose models Bedrock caches no prompts of, and that take no effort. */
const plainVendors =
  /(?:^|\.)(?:ai21|cohere|deepseek|google|meta|minimax|mistral|moonshot|nvidia|qwen|stability|writer|zai)\./i;
const nova = /(?:^|[./])amazon\.nova/i;
const secondNova = /(?:^|[./])amazon\.nova-2/i;
const titan = /(?:^|[./])amazon\.titan/i;

export const isNova = (model: string): boolean => nova.test(model);

/** Where a mark of the cache may stand; `all` also for names that say nothing of the vendor, such as ARNs. */
export type CachePlaces = 'all' | 'prompt' | 'none';

export function cachePlacesOf(model: string): CachePlaces {
  if (plainVendors.test(model) || titan.test(model)) return 'none';
  return isNova(model) ? 'prompt' : 'all';
}

/** How a model is told its effort; null for models that take none. */
export type EffortForm = 'effort' | 'reasoningConfig' | null;

export function effortFormOf(model: string): EffortForm {
  if (secondNova.test(model)) return 'reasoningConfig';
  return plainVendors.test(model) || titan.test(model) || isNova(model) ? null : 'effort';
}
