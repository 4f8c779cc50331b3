/** Knows how texts become numbers: asked of a model, checked, and brought to length 1, so that their products are cosines. */
import type { ModelCalls } from '../model-calls.ts';

/** A model that did not give what it was asked for; the message is meant for the caller. */
export class EmbeddingError extends Error {
  override name = 'EmbeddingError';
  /** Of the answer; null for one that was no embeddings. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** What the type of MySQL for vectors takes. */
const dimensionsMax = 16_383;

/** One for each text, all of as many numbers. @throws EmbeddingError */
export async function embed(
  models: ModelCalls,
  model: string,
  input: readonly string[],
): Promise<Float32Array[]> {
  const { status, body } = await models.call('/embeddings', {
    ...{ model, input, encoding_format: 'float' },
  });
  if (status < 200 || status > 299) {
    throw new EmbeddingError(
      `The model for embeddings answered ${status}${reasonIn(body)}`,
      status,
    );
  }
  const data = (body as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== input.length) {
    throw new EmbeddingError('The model for embeddings gave none, or too few');
  }
  const vectors: Float32Array[] = [];
  for (const [place, one] of data.entries()) {
    const { index = place, embedding } = one as { index?: unknown; embedding?: unknown };
    const vector = unitVector(embedding);
    if (vector === null || !Number.isInteger(index) || vectors[Number(index)] !== undefined) {
      throw new EmbeddingError('The model for embeddings gave something else');
    }
    vectors[Number(index)] = vector;
  }
  const [first] = vectors;
  const areAlike =
    vectors.length === input.length && vectors.every((v) => v?.length === first?.length);
  if (!areAlike) throw new EmbeddingError('The embeddings of one answer have different lengths');
  return vectors;
}

function reasonIn(body: unknown): string {
  const message = (body as { error?: { message?: unknown } } | null)?.error?.message;
  return typeof message === 'string' ? `: ${message.slice(0, 200)}` : '';
}

/** Null for what is no list of finite numbers. */
function unitVector(embedding: unknown): Float32Array | null {
  if (!Array.isArray(embedding) || embedding.length === 0) return null;
  if (embedding.length > dimensionsMax) return null;
  let square = 0;
  for (const number of embedding) {
    if (typeof number !== 'number') return null;
    square += number * number;
  }
  if (!Number.isFinite(square)) return null;
  const length = Math.sqrt(square);
  const vector = new Float32Array(embedding.length);
  if (length === 0) return vector;
  for (let at = 0; at < vector.length; at += 1) vector[at] = embedding[at] / length;
  return vector;
}

/** As they lie in the database, whatever order of bytes the machine has. */
export function bytesOf(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

/** Reverses {@link bytesOf}, of any number of vectors one after the other. */
export function numbersOf(bytes: Buffer): Float32Array<ArrayBuffer> {
  const copied = Buffer.from(new ArrayBuffer(bytes.length));
  bytes.copy(copied);
  if (!isLittleEndian) copied.swap32();
  return new Float32Array(copied.buffer, 0, bytes.length / 4);
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
