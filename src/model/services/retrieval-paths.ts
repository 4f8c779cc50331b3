/** Names the canonical paths of embeddings in the forms of Amazon Bedrock, Vertex AI and Cohere. */

/** InvokeModel of Bedrock with the texts to embed; the model is in the body. */
export const embeddingInvokePath = '/model/embedding/invoke';

/** `predict` of Vertex AI with the texts to embed; the model is in the body. */
export const predictPath = '/v1beta/models:predict';

/** Embeddings of Cohere's second version. */
export const cohereEmbedPath = '/v2/embed';

/** Embeddings of the forms that other providers receive as OpenAI's. */
export const nativeEmbeddingPaths: ReadonlySet<string> = new Set([
  embeddingInvokePath,
  predictPath,
  cohereEmbedPath,
  '/v1beta/models:embedContent',
  '/v1beta/models:batchEmbedContents',
]);
