/** Embeds texts with a model, validates the vectors and normalises them to length 1, so dot products are cosines. */
import type { ModelCalls } from '../model-calls.ts';

/** Reports an unusable response of the model; the message is meant for the caller. */
export class EmbeddingError extends Error {
  override name = 'EmbeddingError';
  /** Status of the response; null if it contained no embeddings. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** Maximum of MySQL's vector type. */
const dimensionsMax = 16_383;

/** Returns one vector for each text, all of the same length. @throws EmbeddingError */
export async function embed(
  models: ModelCalls,
  model: string,
  input: readonly string[],
): Promise<Float32Array[]> {
  const { status, body } = await models.call('/embeddings', {
    model,
    input,
    encoding_format: 'float',
  });
  if (status < 200 || status > 299) {
    throw new EmbeddingError(
      `The embedding model returned status ${status}${reasonIn(body)}`,
      status,
    );
  }
  const data = (body as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== input.length) {
    throw new EmbeddingError('The embedding model returned too few embeddings');
  }
  const vectors: Float32Array[] = [];
  for (const [position, item] of data.entries()) {
    const { index = position, embedding } = item as { index?: unknown; embedding?: unknown };
    const vector = unitVector(embedding);
    if (vector === null || !Number.isInteger(index) || vectors[Number(index)] !== undefined) {
      throw new EmbeddingError('The embedding model returned an invalid embedding');
    }
    vectors[Number(index)] = vector;
  }
  const [first] = vectors;
  const areAlike =
    vectors.length === input.length && vectors.every((v) => v?.length === first?.length);
  if (!areAlike) throw new EmbeddingError('The embeddings of one response have different lengths');
  return vectors;
}

function reasonIn(body: unknown): string {
  const message = (body as { error?: { message?: unknown } } | null)?.error?.message;
  return typeof message === 'string' ? `: ${message.slice(0, 200)}` : '';
}

/** The vector of the only embedding in the body of a response; null if there is none. */
export function onlyVector(body: unknown): Float32Array | null {
  const data = (body as { readonly data?: unknown } | null)?.data;
  const [only] = Array.isArray(data) && data.length === 1 ? (data as unknown[]) : [];
  return unitVector((only as { readonly embedding?: unknown } | null | undefined)?.embedding);
}

/** Null for a value that is not a list of finite numbers. */
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

/** Bytes of a vector as stored in the database: little-endian on every machine. */
export function vectorBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

/** Inverse of {@link vectorBytes}, for any number of concatenated vectors. */
export function readVectors(bytes: Buffer): Float32Array<ArrayBuffer> {
  const copied = Buffer.from(new ArrayBuffer(bytes.length));
  bytes.copy(copied);
  if (!isLittleEndian) copied.swap32();
  return new Float32Array(copied.buffer, 0, bytes.length / 4);
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
