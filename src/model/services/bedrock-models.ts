/** Decides in which form Amazon Bedrock serves a model, and builds the path of a model. */
import type { DialectName } from './provider-addresses.ts';
import { nativeEmbeddingPaths } from './retrieval-paths.ts';

/** Values of the account field `aws_bedrock_format`, which has precedence over the name of a model. */
const settings: ReadonlyMap<string, DialectName> = new Map([
  ['openai', 'bedrock-openai'],
  ['invoke', 'bedrock-anthropic'],
  ['converse', 'bedrock-converse'],
]);

/** Forms by the vendor in the name of a model; Converse serves every other one. */
const formOfVendor: ReadonlyMap<string, DialectName> = new Map([
  ['anthropic', 'bedrock-anthropic'],
  ['openai', 'bedrock-openai'],
]);

/**
 * The vendor is the first word of a model, or the second one behind the geography of an inference profile; an ARN ends
 * in such a name. ARNs of application profiles and of provisioned models name no vendor.
 */
export function bedrockDialect(model: string | null, setting: string | undefined): DialectName {
  const name = (model ?? '').toLowerCase().split('/').at(-1)!;
  const [first = '', second = ''] = name.split('.');
  return (
    settings.get(setting ?? '') ??
    formOfVendor.get(first) ??
    formOfVendor.get(second) ??
    'bedrock-converse'
  );
}

/**
 * The form of a model for embeddings or rankings; null for any other request, and for models of other names: Titan
 * models that write text have the same body, and their output would not be metered. Embeddings of Nova share the form
 * of Titan.
 */
export function bedrockRetrieval(path: string | null, model: string | null): DialectName | null {
  const name = model ?? '';
  if (path === '/rerank') return /rerank/i.test(name) ? 'bedrock-ranking' : null;
  if (path !== '/embeddings' && !nativeEmbeddingPaths.has(path ?? '')) return null;
  if (/cohere\.embed/i.test(name)) return 'bedrock-cohere';
  return /titan-embed|nova-.*embeddings/i.test(name) ? 'bedrock-titan' : null;
}

/** Path of an operation on a model. The encoding is the one that signatures of AWS are computed from. */
export function bedrockModelPath(model: string, operation: string): string {
  const encoded = encodeURIComponent(model.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `/model/${encoded}/${operation}`;
}

/** Canonical path of Converse, whose requests have model and kind of the response in the body. */
export const conversePath = '/model/converse';

/** Canonical path of CountTokens for a request of Converse. */
export const converseCountPath = '/model/converse/count-tokens';
