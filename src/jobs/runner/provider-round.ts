/** Queries providers about objects during one run of a job, a few at once; an unresponsive provider is not queried again. */
import type { JobContext } from './job.ts';

/** Maximum objects in one run; other jobs of the process wait for the run. */
export const queriesMax = 500;
const concurrentQueries = 8;
const responseMs = 10_000;

/** An object at a provider. */
interface ProviderObject {
  readonly organisation_id: string;
  readonly provider: string;
  readonly kind: string;
}

/** Stands for the missing response of a provider. */
export const noResponse = Symbol('no response');

export class ProviderRound {
  readonly #context: Pick<JobContext, 'signal' | 'log'>;
  readonly #warning: string;
  readonly #unresponsive = new Set<string>();

  /** @param warning logged once for each provider that does not respond */
  constructor(context: Pick<JobContext, 'signal' | 'log'>, warning: string) {
    this.#context = context;
    this.#warning = warning;
  }

  /** Returns the results of `work` in order; only the first ones when the job must stop. */
  async each<Row, Result>(
    rows: readonly Row[],
    work: (row: Row) => Promise<Result>,
  ): Promise<readonly Result[]> {
    const results: Result[] = [];
    for (let at = 0; at < rows.length && !this.#context.signal.aborted; at += concurrentQueries) {
      results.push(...(await Promise.all(rows.slice(at, at + concurrentQueries).map(work))));
    }
    return results;
  }

  /** Returns {@link noResponse} also when the provider has not responded before. */
  async query<Response>(
    { organisation_id: organisationId, provider, kind }: ProviderObject,
    send: (until: AbortSignal) => Promise<Response>,
  ): Promise<Response | typeof noResponse> {
    const { signal, log } = this.#context;
    const key = `${organisationId} ${provider}`;
    if (this.#unresponsive.has(key)) return noResponse;
    try {
      return await send(AbortSignal.any([signal, AbortSignal.timeout(responseMs)]));
    } catch (err) {
      // A concurrent query may have logged the warning already.
      if (!this.#unresponsive.has(key)) {
        log.warn({ err, organisationId, provider, kind }, this.#warning);
      }
      this.#unresponsive.add(key);
      return noResponse;
    }
  }
}
