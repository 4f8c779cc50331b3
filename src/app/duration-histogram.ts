/** Defines a Prometheus histogram that costs a few additions per observation. */
import { Histogram, type Registry } from 'prom-client';

/** Observations of one set of label values. */
interface Tally {
  readonly labels: Readonly<Record<string, string>>;
  /** Per bucket, not cumulative; the last entry counts values beyond all bounds. */
  readonly counts: number[];
  seconds: number;
}

/**
 * A histogram that processes labels only when they are first seen. The library's histogram iterates
 * label names and values on every observation, a noticeable share of the cost of a request.
 */
export class DurationHistogram extends Histogram {
  readonly #about: { readonly name: string; readonly help: string };
  readonly #labelNames: readonly string[];
  readonly #buckets: readonly number[];
  readonly #tallies = new Map<string, Tally>();

  /** `buckets` are upper bounds in seconds, ascending. */
  constructor(options: {
    readonly name: string;
    readonly help: string;
    readonly labelNames: readonly string[];
    readonly buckets: readonly number[];
    readonly register: Registry;
  }) {
    const { name, help, labelNames, buckets, register } = options;
    super({ name, help, labelNames, buckets: [...buckets], registers: [register] });
    this.#about = { name, help };
    this.#labelNames = labelNames;
    this.#buckets = buckets;
  }

  /** Label values in the order of the label names. They must not contain spaces, which join them to a key. */
  note(seconds: number, first: string, second = ''): void {
    const key = second === '' ? first : `${first} ${second}`;
    const tally = this.#tallies.get(key) ?? this.#createTally(key, [first, second]);
    const buckets = this.#buckets;
    let at = 0;
    while (at < buckets.length && seconds > buckets[at]!) at += 1;
    tally.counts[at]! += 1;
    tally.seconds += seconds;
  }

  #createTally(key: string, values: readonly string[]): Tally {
    const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at]!]));
    const tally = { labels, counts: Array.from(this.#buckets, () => 0).concat(0), seconds: 0 };
    this.#tallies.set(key, tally);
    return tally;
  }

  /** Overrides the method from which the library renders text and JSON. */
  getForPromString() {
    const values = [...this.#tallies.values()].flatMap((tally) => this.#valuesOf(tally));
    return { ...this.#about, type: 'histogram', aggregator: 'sum', values };
  }

  #valuesOf({ labels, counts, seconds }: Tally) {
    const { name } = this.#about;
    let count = 0;
    const buckets = [...this.#buckets, '+Inf'].map((le, at) => {
      count += counts[at]!;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: seconds },
      { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count },
    ];
  }
}
