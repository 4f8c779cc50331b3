/** Measures model requests by operation, provider and model, under the names of OpenTelemetry's conventions. */
import type { Registry } from 'prom-client';
import { genAiOperation, genAiProvider } from '../../gateway/logs/gen-ai-names.ts';
import type { RequestRecord } from '../../gateway/logs/request-record.ts';
import type { TokenUsage } from '../../model/pricing/pricing.ts';
import { type Tally, TallyHistogram } from './tally-histogram.ts';

/** Sets of operation, provider and model with labels of their own; the rest is counted as `other`. */
const modelsMax = 200;
/** Sets that the durations have in addition, one for each kind of error. */
const failuresMax = 800;
const modelCharsMax = 128;

/** Statuses with a label value of their own. */
const errorTypes: ReadonlySet<number> = new Set([
  400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 502, 503, 504, 529,
]);

/** Bounds that the conventions recommend. */
const buckets = {
  duration: [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
  ],
  firstToken: [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
  ],
  perToken: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  tokens: Array.from({ length: 14 }, (_, power) => 4 ** power),
} as const;

const modelLabels = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'];

type Histograms = ReturnType<typeof createHistograms>;

function createHistograms(register: Registry) {
  return {
    duration: new TallyHistogram({
      name: 'gen_ai_server_request_duration_seconds',
      help: 'Time of model requests from the first header to the last byte, with retries',
      labelNames: [...modelLabels, 'error_type'],
      buckets: buckets.duration,
      register,
    }),
    firstToken: new TallyHistogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'Time of streamed model requests to the first byte of the response',
      labelNames: modelLabels,
      buckets: buckets.firstToken,
      register,
    }),
    perToken: new TallyHistogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Time between two tokens of streamed responses, after the first',
      labelNames: modelLabels,
      buckets: buckets.perToken,
      register,
    }),
    tokens: new TallyHistogram({
      name: 'gen_ai_client_token_usage',
      help: 'Tokens of each charged call of a provider, input or output',
      labelNames: [...modelLabels, 'gen_ai_token_type'],
      buckets: buckets.tokens,
      register,
    }),
  };
}

/** The tallies of one operation, provider and model, created on first use. */
class ModelTallies {
  readonly #histograms: Histograms;
  readonly #labels: readonly string[];
  readonly #durations = new Map<string, Tally>();
  #firstToken: Tally | null = null;
  #perToken: Tally | null = null;
  #input: Tally | null = null;
  #output: Tally | null = null;

  constructor(histograms: Histograms, labels: readonly string[]) {
    this.#histograms = histograms;
    this.#labels = labels;
  }

  hasErrorType(errorType: string): boolean {
    return this.#durations.has(errorType);
  }

  noteDuration(seconds: number, errorType: string): void {
    let tally = this.#durations.get(errorType);
    if (tally === undefined) {
      tally = this.#histograms.duration.createTally([...this.#labels, errorType]);
      this.#durations.set(errorType, tally);
    }
    tally.note(seconds);
  }

  noteStream(firstSeconds: number, restSeconds: number, outputTokens: number): void {
    this.#firstToken ??= this.#histograms.firstToken.createTally(this.#labels);
    this.#firstToken.note(firstSeconds);
    if (outputTokens < 2) return;
    this.#perToken ??= this.#histograms.perToken.createTally(this.#labels);
    this.#perToken.note(restSeconds / (outputTokens - 1));
  }

  noteTokens({ inputTokens, outputTokens }: TokenUsage): void {
    const { tokens } = this.#histograms;
    this.#input ??= tokens.createTally([...this.#labels, 'input']);
    this.#input.note(inputTokens);
    this.#output ??= tokens.createTally([...this.#labels, 'output']);
    this.#output.note(outputTokens);
  }
}

export class GenAiMetrics {
  readonly #histograms: Histograms;
  readonly #models = new Map<string, ModelTallies>();
  readonly #others = new Map<string, ModelTallies>();
  #failures = 0;

  constructor(register: Registry) {
    this.#histograms = createHistograms(register);
  }

  /** Ignores requests that reached no provider, and those that call no model. */
  observe(record: RequestRecord): void {
    const { service, endpoint, tokens, status, earlierAttempts } = record;
    for (const attempt of earlierAttempts) {
      this.#talliesOf(endpoint, attempt.service, attempt.model, false).noteTokens(attempt.tokens);
    }
    const operation = genAiOperation(endpoint);
    if (service === null || (operation === null && tokens === null)) return;
    const tallies = this.#talliesOf(endpoint, service, record.model, status < 400);
    tallies.noteDuration(record.durationMs / 1000, this.#errorType(status, tallies));
    const { firstByteMs, isStream, cacheStatus } = record;
    if (cacheStatus?.endsWith('HIT')) return;
    if (isStream && firstByteMs !== null) {
      const restSeconds = (record.durationMs - firstByteMs) / 1000;
      tallies.noteStream(firstByteMs / 1000, restSeconds, tokens?.outputTokens ?? 0);
    }
    if (tokens !== null) tallies.noteTokens(tokens);
  }

  /** Only a successful request gives a model labels of its own, so that unknown names do not use them up. */
  #talliesOf(
    endpoint: string,
    service: string,
    model: string | null,
    hasSucceeded: boolean,
  ): ModelTallies {
    const key = `${endpoint}\n${service}\n${model}`;
    const known = this.#models.get(key);
    if (known !== undefined) return known;
    const operation = genAiOperation(endpoint) ?? endpoint;
    if (!hasSucceeded || this.#models.size >= modelsMax) return this.#othersOf(operation);
    const labels = [operation, genAiProvider(service), (model ?? '').slice(0, modelCharsMax)];
    const tallies = new ModelTallies(this.#histograms, labels);
    this.#models.set(key, tallies);
    return tallies;
  }

  #othersOf(operation: string): ModelTallies {
    const known = this.#others.get(operation);
    if (known !== undefined) return known;
    const tallies = new ModelTallies(this.#histograms, [operation, 'other', 'other']);
    this.#others.set(operation, tallies);
    return tallies;
  }

  /** '' for a success, which Prometheus takes for an absent label. */
  #errorType(status: number, tallies: ModelTallies): string {
    if (status < 400) return '';
    const own = errorTypes.has(status) ? String(status) : '_OTHER';
    if (tallies.hasErrorType(own) || own === '_OTHER') return own;
    if (this.#failures >= failuresMax) return '_OTHER';
    this.#failures += 1;
    return own;
  }
}
