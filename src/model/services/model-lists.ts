/** States which wire formats have lists of models, and how all of them are requested. */
import type { DialectName } from './provider-addresses.ts';

/**
 * Ends of the paths of the lists, behind that of `GET /models`, by format. Without an entry only the models of an
 * integration are known. Bedrock lists models and the inference profiles by which others are called.
 */
const lists: Partial<Readonly<Record<DialectName, readonly string[]>>> = {
  openai: [''],
  anthropic: ['?limit=1000'],
  'foundry-openai': [''],
  'bedrock-converse': ['/foundation-models', '/inference-profiles?maxResults=1000'],
};

/** Null when the format has no list of models. */
export function modelListsOf(dialect: DialectName): readonly string[] | null {
  return lists[dialect] ?? null;
}
