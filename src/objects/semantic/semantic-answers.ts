/** Stores responses of models with the embeddings of their questions, and finds the one whose question is nearest. */
import { detach } from '../../detached.ts';
import type { Database } from '../../store/connection/db.ts';
import { isUnavailable } from '../../store/connection/unavailable.ts';
import * as answers from '../../store/objects/semantic-answers.ts';
import { readVectors, vectorBytes } from '../ingestion/embeddings.ts';
import { NearestRowCollector } from '../search/nearest.ts';

/** A question: who shares its answer, and what it means. */
export interface SemanticQuestion {
  readonly organisationId: string;
  /** '' for a key of the organisation. */
  readonly workspaceId: string;
  /** SHA-256 of the callers and of everything in the request but the question. */
  readonly scope: Buffer;
  /** SHA-256 of the question. */
  readonly hash: Buffer;
  /** A unit vector. */
  readonly vector: Float32Array;
}

export interface SemanticAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

interface FindTerms {
  /** Least cosine similarity. */
  readonly threshold: number;
  /** Oldest time of a usable answer, milliseconds since the epoch. */
  readonly since: number;
}

/** Newest answers of a scope that are compared. */
const comparedMax = 200;
/** Answers of a workspace; the oldest are deleted first. */
const answersMaxUsual = 5_000;
/** Answers that wait to be stored; further ones are dropped. */
const pendingMax = 100;
/** Error of a product of equal unit vectors in 32-bit floats. */
const roundingError = 1e-6;

export class SemanticAnswers implements AsyncDisposable {
  readonly #database: Pick<Database, 'db' | 'transaction'>;
  readonly #answersMax: number;
  readonly #pending = new Set<Promise<void>>();

  constructor(database: Pick<Database, 'db' | 'transaction'>, answersMax = answersMaxUsual) {
    this.#database = database;
    this.#answersMax = answersMax;
  }

  /** The answer to the most similar question; null if none is similar enough. */
  async find(
    { organisationId, scope, vector }: SemanticQuestion,
    { threshold, since }: FindTerms,
  ): Promise<SemanticAnswer | null> {
    const { db } = this.#database;
    const place = { organisation_id: organisationId, scope };
    const stored = await answers.listEmbeddings(db, place, since, comparedMax);
    const nearest = new NearestRowCollector(1, threshold - roundingError);
    for (const [at, { embedding }] of stored.entries()) {
      // Embeddings of another length are from before a change of the model.
      if (embedding.length === vector.byteLength) nearest.add(at, readVectors(embedding), vector);
    }
    const [best] = nearest.rows;
    if (best === undefined) return null;
    const { question_hash } = stored[best.matrix]!;
    const row = await answers.find(db, { ...place, question_hash });
    return row === undefined
      ? null
      : { status: row.status, contentType: row.content_type, body: row.body };
  }

  /** Stores an answer without delaying the caller; drops it while too many wait. Times in milliseconds. */
  add(question: SemanticQuestion, answer: SemanticAnswer, now: number, maxAgeMs: number): void {
    if (this.#pending.size >= pendingMax) return;
    const storing = this.#store(question, answer, now, maxAgeMs)
      .catch((error: unknown) => {
        // Without the database nothing is stored, and nothing is missing.
        if (!isUnavailable(error)) throw error;
      })
      .finally(() => this.#pending.delete(storing));
    this.#pending.add(storing);
    detach('storing a semantic answer', storing);
  }

  async #store(
    { organisationId, workspaceId, scope, hash, vector }: SemanticQuestion,
    { status, contentType, body }: SemanticAnswer,
    now: number,
    maxAgeMs: number,
  ): Promise<void> {
    const row = {
      organisation_id: organisationId,
      scope,
      question_hash: hash,
      workspace_id: workspaceId,
      embedding: vectorBytes(vector),
      status,
      content_type: contentType,
      body,
      created_at: now,
      expires_at: now + maxAgeMs,
    };
    await this.#database.transaction(async (tx) => {
      await answers.put(tx, row);
      await answers.trim(tx, row, this.#answersMax);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#pending);
  }
}
