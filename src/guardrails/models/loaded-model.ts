/** Runs a model on texts: loads tokenizer and weights, and reads labels from the outputs. */
import type { ModelManifest } from '../../model/guardrails/model-manifest.ts';
import { plainLabel } from '../../model/guardrails/model-manifest.ts';
import { ModelUnusable, readModelManifest, readVerified } from './model-bundle.ts';
import { loadOnnxRuntime, type OnnxRuntime } from './onnx-runtime.ts';
import { type Word, WordTokens } from './word-tokens.ts';

/** A label for a part of a text, or for a text as a whole. */
export interface ModelFinding {
  readonly label: string;
  /** Between 0 and 1. */
  readonly score: number;
  readonly from: number;
  readonly to: number;
}

/** Inputs of models in the format of BERT, by their names. */
const inputValues: Readonly<Record<string, (ids: readonly number[], at: number) => number>> = {
  input_ids: (ids, at) => ids[at]!,
  attention_mask: () => 1,
  token_type_ids: () => 0,
};
/** Label of words that belong to no entity. */
const outside = 'O';

type Session = Awaited<ReturnType<OnnxRuntime['InferenceSession']['create']>>;

export class LoadedModel {
  readonly #manifest: ModelManifest;
  readonly #tokens: WordTokens;
  readonly #runtime: OnnxRuntime;
  readonly #session: Session;

  private constructor(
    manifest: ModelManifest,
    tokens: WordTokens,
    runtime: OnnxRuntime,
    session: Session,
  ) {
    this.#manifest = manifest;
    this.#tokens = tokens;
    this.#runtime = runtime;
    this.#session = session;
  }

  /** @throws ModelUnusable */
  static async load(folder: string): Promise<LoadedModel> {
    const manifest = readModelManifest(folder);
    const runtime = loadOnnxRuntime(folder);
    const [weights, tokenizer] = await Promise.all([
      readVerified(folder, manifest, manifest.model),
      readVerified(folder, manifest, manifest.tokenizer),
    ]);
    const tokens = await usable(folder, manifest.tokenizer, async () => {
      return new WordTokens(JSON.parse(tokenizer.toString('utf8')));
    });
    // One thread, because the gateway needs the others.
    const options = {
      executionProviders: ['cpu'],
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
    };
    const session = await usable(folder, manifest.model, () =>
      runtime.InferenceSession.create(weights, options),
    );
    const unknown = session.inputNames.filter((name) => !Object.hasOwn(inputValues, name));
    if (unknown.length > 0) {
      throw new ModelUnusable(`${folder}: the model has the unknown input ${unknown[0]}`);
    }
    return new LoadedModel(manifest, tokens, runtime, session);
  }

  /** The labels of each text; a text as a whole has the highest score of its windows for each label. */
  async judge(texts: readonly string[]): Promise<ModelFinding[][]> {
    const judged: ModelFinding[][] = [];
    for (const text of texts) judged.push(await this.#judgeText(text));
    return judged;
  }

  async #judgeText(text: string): Promise<ModelFinding[]> {
    const { task, max_tokens: tokensMax } = this.#manifest;
    const isWhole = task === 'text-classification';
    const found: ModelFinding[] = [];
    for (const words of this.#tokens.windows(this.#tokens.words(text), tokensMax)) {
      const { ids, positions } = this.#tokens.input(words, tokensMax);
      const scores = await this.#scores(ids, isWhole);
      found.push(
        ...(isWhole
          ? this.#wholeFindings(scores[0]!, text)
          : this.#entities(words, positions, scores)),
      );
    }
    return isWhole ? highest(found) : joined(found, text);
  }

  /** Scores of all labels, for each token or for the input. */
  async #scores(ids: readonly number[], isWhole: boolean): Promise<number[][]> {
    const { Tensor } = this.#runtime;
    const feeds = Object.fromEntries(
      this.#session.inputNames.map((name) => {
        const values = ids.map((_, at) => BigInt(inputValues[name]!(ids, at)));
        return [name, new Tensor('int64', BigInt64Array.from(values), [1, ids.length])];
      }),
    );
    const outputs = await this.#session.run(feeds);
    const { data, dims } = outputs[this.#session.outputNames[0]!]!;
    const { length } = this.#manifest.labels;
    const expected = isWhole ? `1,${length}` : `1,${ids.length},${length}`;
    if (dims.join() !== expected) {
      throw new ModelUnusable(`the output of the model has the shape ${dims.join()}`);
    }
    return Array.from({ length: isWhole ? 1 : ids.length }, (_, at) =>
      probabilities(Array.from({ length }, (__, label) => Number(data[at * length + label]))),
    );
  }

  #wholeFindings(scores: readonly number[], text: string): ModelFinding[] {
    return this.#manifest.labels.map((label, at) => ({
      label,
      score: scores[at]!,
      from: 0,
      to: text.length,
    }));
  }

  /** The label of a word is that of its first token. */
  #entities(
    words: readonly Word[],
    positions: readonly number[],
    scores: readonly (readonly number[])[],
  ): ModelFinding[] {
    return words.flatMap(({ from, to, ids }, at) => {
      const own = scores[positions[at]!];
      if (ids.length === 0 || own === undefined) return [];
      const best = own.indexOf(Math.max(...own));
      const label = plainLabel(this.#manifest.labels[best]!);
      return label === outside ? [] : [{ label, score: own[best]!, from, to }];
    });
  }
}

async function usable<T>(folder: string, file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const [reason] = (cause as Error).message.split('\n');
    throw new ModelUnusable(`${folder}/${file} cannot be loaded: ${reason}`, { cause });
  }
}

function probabilities(logits: readonly number[]): number[] {
  const most = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function highest(found: readonly ModelFinding[]): ModelFinding[] {
  const byLabel = new Map<string, ModelFinding>();
  for (const one of found) {
    if (one.score > (byLabel.get(one.label)?.score ?? -1)) byLabel.set(one.label, one);
  }
  return [...byLabel.values()];
}

/** Joins neighbouring words with the same label, which windows may contain twice. */
function joined(found: readonly ModelFinding[], text: string): ModelFinding[] {
  const entities: ModelFinding[] = [];
  for (const one of found.toSorted((a, b) => a.from - b.from)) {
    const latest = entities.at(-1);
    const between = latest === undefined ? '' : text.slice(latest.to, one.from);
    if (latest === undefined || latest.label !== one.label || !/^[\s.'’-]{0,3}$/.test(between)) {
      entities.push(one);
      continue;
    }
    const score = Math.max(latest.score, one.score);
    entities[entities.length - 1] = { ...latest, score, to: Math.max(latest.to, one.to) };
  }
  return entities;
}
