/** Lists every value of a file in the order in which sops computes its MAC. */
import {
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
} from 'js-yaml';

/** Key of the sops metadata in each document of a file. */
export const metadataKey = 'sops';
/** Deeper than what sops encrypts and manifests may contain. */
const depthMax = 200;

/** A value that is neither map nor list. */
export interface SopsLeaf {
  /** Index of its document in the file. */
  readonly document: number;
  /** Path with keys and list indexes. */
  readonly path: readonly string[];
  /** The keys of the path, by which sops identifies the value. */
  readonly keys: readonly string[];
  /** The text in the MAC: `True`, `1000000`; null for null. */
  readonly text: string | null;
  /** Whether it is text, not a YAML number or word. */
  readonly isText: boolean;
}

/** @param text valid YAML with text keys only */
export function sopsLeaves(text: string): SopsLeaf[] {
  const walk = new Walk(text);
  for (const event of parseEvents(text, { maxDepth: depthMax })) walk.take(event);
  return walk.leaves;
}

interface Open {
  readonly isMap: boolean;
  /** In a map: the key whose value comes next. */
  key: string | undefined;
  items: number;
}

class Walk {
  readonly leaves: SopsLeaf[] = [];
  readonly #text: string;
  readonly #open: Open[] = [];
  #document = -1;

  constructor(text: string) {
    this.#text = text;
  }

  take(event: Event): void {
    if (event.type === EVENT_ID.POP) {
      this.#open.pop();
      this.#passValue();
    } else if (event.type === EVENT_ID.DOCUMENT) {
      this.#document += 1;
      this.#open.push({ isMap: false, key: undefined, items: 0 });
    } else if (event.type === EVENT_ID.SCALAR) {
      this.#takeScalar(event);
    } else if (event.type !== EVENT_ID.ALIAS) {
      const isMap = event.type === EVENT_ID.MAPPING;
      this.#open.push({ isMap, key: undefined, items: 0 });
    }
  }

  #takeScalar(event: ScalarEvent): void {
    const text = getScalarValue(this.#text, event);
    const holder = this.#open.at(-1);
    if (holder?.isMap === true && holder.key === undefined) {
      holder.key = text;
      return;
    }
    const isPlain = event.style === SCALAR_STYLE.PLAIN;
    const [, ...open] = this.#open;
    if (open[0]?.key !== metadataKey) {
      this.leaves.push({
        document: this.#document,
        path: open.map(({ key, items }) => key ?? `${items}`),
        keys: open.flatMap(({ key }) => key ?? []),
        ...(isPlain ? counted(text) : { text, isText: true }),
      });
    }
    this.#passValue();
  }

  #passValue(): void {
    const holder = this.#open.at(-1);
    if (holder === undefined) return;
    holder.key = undefined;
    holder.items += 1;
  }
}

const words: ReadonlyMap<string, string | null> = new Map([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE'].map((word) => [word, 'True'] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, 'False'] as const),
  ...['.inf', '.Inf', '.INF'].map((word) => [word, '+Inf'] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, '-Inf'] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, 'NaN'] as const),
]);
const integer = /^[-+]?\d+$/;
const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

/** Returns the text of an unquoted value in the MAC. */
function counted(text: string): Pick<SopsLeaf, 'text' | 'isText'> {
  const word = words.get(text);
  if (word !== undefined) return { text: word, isText: false };
  if (integer.test(text)) {
    const whole = BigInt(text.replace('+', ''));
    if (BigInt.asIntN(64, whole) === whole) return { text: `${whole}`, isText: false };
  }
  return decimal.test(text)
    ? { text: withoutExponent(Number(text)), isText: false }
    : { text, isText: true };
}

/** Returns the shortest text of a number without an exponent. */
function withoutExponent(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [, whole = '', fraction = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(Math.abs(value))) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits + '0'.repeat(point - digits.length);
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
