/** Knows how providers are asked about objects in one run of a job: a few at once, those that are silent not again. */
import type { JobContext } from './job.ts';

/** Of which providers are asked in one run; other jobs of the process wait for it. */
export const askedMax = 500;
/** Asked at once. */
const atOnce = 8;
const answerMs = 10_000;

/** An object at a provider. */
interface Asked {
  readonly organisation_id: string;
  readonly provider: string;
  readonly kind: string;
}

/** In place of an answer. */
export const silence = Symbol('silence');

export class ProviderRound {
  readonly #context: Pick<JobContext, 'signal' | 'log'>;
  readonly #complaint: string;
  readonly #silent = new Set<string>();

  /** `complaint` is logged once of each provider that does not answer. */
  constructor(context: Pick<JobContext, 'signal' | 'log'>, complaint: string) {
    this.#context = context;
    this.#complaint = complaint;
  }

  /** What `work` yields of each, in order; of the first ones only where the job is told to end. */
  async each<Row, Done>(
    rows: readonly Row[],
    work: (row: Row) => Promise<Done>,
  ): Promise<readonly Done[]> {
    const done: Done[] = [];
    for (let at = 0; at < rows.length && !this.#context.signal.aborted; at += atOnce) {
      done.push(...(await Promise.all(rows.slice(at, at + atOnce).map(work))));
    }
    return done;
  }

  /** The answer of the object's provider, or {@link silence}, also where it was silent before. */
  async ask<Told>(
    { organisation_id: organisationId, provider, kind }: Asked,
    question: (until: AbortSignal) => Promise<Told>,
  ): Promise<Told | typeof silence> {
    const { signal, log } = this.#context;
    const place = `${organisationId} ${provider}`;
    if (this.#silent.has(place)) return silence;
    try {
      return await question(AbortSignal.any([signal, AbortSignal.timeout(answerMs)]));
    } catch (err) {
      // Others may have been asking it at the same time.
      if (!this.#silent.has(place)) {
        log.warn({ err, organisationId, provider, kind }, this.#complaint);
      }
      this.#silent.add(place);
      return silence;
    }
  }
}
