/** Defines a Prometheus histogram that costs a few additions per observation. */
import { Histogram, type Registry } from 'prom-client';

/** The observations of one set of label values. */
export class Tally {
  readonly labels: Readonly<Record<string, string>>;
  /** Per bucket, not cumulative; the last entry counts values beyond all bounds. */
  readonly counts: number[];
  sum = 0;
  readonly #buckets: readonly number[];

  constructor(labels: Readonly<Record<string, string>>, buckets: readonly number[]) {
    this.labels = labels;
    this.counts = Array.from(buckets, () => 0).concat(0);
    this.#buckets = buckets;
  }

  note(value: number): void {
    const buckets = this.#buckets;
    let at = 0;
    while (at < buckets.length && value > buckets[at]!) at += 1;
    this.counts[at]! += 1;
    this.sum += value;
  }
}

/**
 * A histogram that processes labels only when they are first seen. The library's histogram iterates
 * label names and values on every observation, a noticeable share of the cost of a request.
 */
export class TallyHistogram extends Histogram {
  readonly #about: { readonly name: string; readonly help: string };
  readonly #labelNames: readonly string[];
  readonly #buckets: readonly number[];
  readonly #tallies: Tally[] = [];
  readonly #byKey = new Map<string, Tally>();

  /** `buckets` are upper bounds, ascending. */
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
  note(value: number, first: string, second = ''): void {
    const key = second === '' ? first : `${first} ${second}`;
    let tally = this.#byKey.get(key);
    if (tally === undefined) {
      tally = this.createTally([first, second]);
      this.#byKey.set(key, tally);
    }
    tally.note(value);
  }

  /** Adds a set of label values, which must be a new one; the caller notes observations in it. */
  createTally(values: readonly string[]): Tally {
    const labels = Object.fromEntries(this.#labelNames.map((name, at) => [name, values[at]!]));
    const tally = new Tally(labels, this.#buckets);
    this.#tallies.push(tally);
    return tally;
  }

  /** Overrides the method from which the library renders text and JSON. */
  getForPromString() {
    const values = this.#tallies.flatMap((tally) => this.#valuesOf(tally));
    return { ...this.#about, type: 'histogram', aggregator: 'sum', values };
  }

  #valuesOf({ labels, counts, sum }: Tally) {
    const { name } = this.#about;
    let count = 0;
    const buckets = [...this.#buckets, '+Inf'].map((le, at) => {
      count += counts[at]!;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count },
    ];
  }
}
