/** Knows how often something took how long, as Prometheus asks for it, at the price of a few additions each time. */
import { Histogram, type Registry } from 'prom-client';

/** Of one set of labels. */
interface Tally {
  readonly labels: Readonly<Record<string, string>>;
  /** By bucket, each without those below it; the last is of what is beyond all bounds. */
  readonly counts: number[];
  seconds: number;
}

/**
 * A histogram whose labels are looked at when they are first seen. The library's own goes through their
 * names and values each time, which is a good part of what a request costs.
 */
export class DurationHistogram extends Histogram {
  readonly #about: { readonly name: string; readonly help: string };
  readonly #labelNames: readonly string[];
  readonly #buckets: readonly number[];
  readonly #tallies = new Map<string, Tally>();

  /** `buckets` are upper bounds in seconds, in their order. */
  constructor(options: {
    readonly name: string;
    readonly help: string;
    readonly labelNames: readonly string[];
    readonly buckets: readonly number[];
    readonly register: Registry;
  }) {
    const { name, help, labelNames, buckets, register } = options;
    super({ ...{ name, help }, labelNames, buckets: [...buckets], registers: [register] });
    this.#about = { name, help };
    this.#labelNames = labelNames;
    this.#buckets = buckets;
  }

  /** The values of the labels, in the order of their names; without blanks, as each set is known by them. */
  note(seconds: number, first: string, second = ''): void {
    const key = second === '' ? first : `${first} ${second}`;
    const tally = this.#tallies.get(key) ?? this.#begin(key, [first, second]);
    const buckets = this.#buckets;
    let at = 0;
    while (at < buckets.length && seconds > buckets[at]!) at += 1;
    tally.counts[at]! += 1;
    tally.seconds += seconds;
  }

  #begin(key: string, values: readonly string[]): Tally {
    const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at]!]));
    const tally = { labels, counts: Array.from(this.#buckets, () => 0).concat(0), seconds: 0 };
    this.#tallies.set(key, tally);
    return tally;
  }

  /** What the library makes its text of, and its lists. */
  getForPromString() {
    const values = [...this.#tallies.values()].flatMap((tally) => this.#told(tally));
    return { ...this.#about, type: 'histogram', aggregator: 'sum', values };
  }

  #told({ labels, counts, seconds }: Tally) {
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
