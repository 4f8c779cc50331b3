/** Knows the places of a kind's spec that are special: references, secrets, verbatim subtrees. */
import { type Kind, type KindName, kinds, type ReferenceField } from '../../model/kinds/kinds.ts';

/**
 * What a place in a spec is, and what lies below it. The patterns of the kinds table are compiled
 * into such nodes once, so that a spec is walked without matching text.
 */
export interface Shape {
  readonly opaque: boolean;
  /** Opaque, with nothing special below: a value to take as it is. */
  readonly verbatim: boolean;
  readonly secret: boolean;
  /** References whose value stands exactly here. */
  readonly references: readonly ReferenceField[];
  /** Keys, in either spelling, that stand in a manifest for a reference below this place. */
  readonly referenceKeys: ReadonlyMap<string, ReferenceField>;
  child(key: string): Shape;
}

/** The shape of a whole spec of this kind. */
export function shapeOf(kind: KindName): Shape {
  let shape = shapes.get(kind);
  if (shape === undefined) {
    shape = new PatternShape(patternsOf(kinds[kind]), false);
    shapes.set(kind, shape);
  }
  return shape;
}

const shapes = new Map<KindName, Shape>();

const words = new Map<string, string>();

/** `creditLimit` as the API spells it: `credit_limit`. Other spellings stay as they are. */
export function toSnakeCase(key: string): string {
  let word = words.get(key);
  if (word === undefined) {
    word = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (words.size < wordsMax) words.set(key, word);
  }
  return word;
}

/** Keys of manifests repeat; those of hostile ones must not fill the memory. */
const wordsMax = 10_000;

/** `credit_limit` as manifests usually spell it: `creditLimit`. */
export function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

interface Pattern {
  readonly parts: readonly string[];
  readonly means: 'opaque' | 'secret' | ReferenceField;
}

function patternsOf(kind: Kind): Pattern[] {
  const patterns: Pattern[] = [
    ...kind.opaque.map((path) => ({ parts: path.split('.'), means: 'opaque' as const })),
    ...kind.secrets.map((path) => ({ parts: path.split('.'), means: 'secret' as const })),
    ...kind.references.map((means) => ({ parts: means.path.split('.'), means })),
  ];
  return withZeroDepth(patterns);
}

/** `**` also stands for no key at all: each pattern that begins with it counts without it too. */
function withZeroDepth(patterns: readonly Pattern[]): Pattern[] {
  return patterns.flatMap((pattern) =>
    pattern.parts[0] === '**'
      ? [pattern, ...withZeroDepth([{ ...pattern, parts: pattern.parts.slice(1) }])]
      : [pattern],
  );
}

class PatternShape implements Shape {
  readonly opaque: boolean;
  readonly verbatim: boolean;
  readonly secret: boolean;
  readonly references: readonly ReferenceField[];
  readonly referenceKeys: ReadonlyMap<string, ReferenceField>;
  readonly #patterns: readonly Pattern[];
  /** Shapes of the keys that a pattern names; undefined until asked for. */
  readonly #named: Map<string, Shape | undefined>;
  /** Shape of every other key. */
  #otherChild: Shape | undefined;

  constructor(patterns: readonly Pattern[], insideOpaque: boolean) {
    const here = patterns.filter(({ parts }) => parts.length === 0).map(({ means }) => means);
    this.#patterns = patterns;
    this.#named = new Map(patterns.map(({ parts }) => [parts[0] ?? '', undefined]));
    this.opaque = insideOpaque || here.includes('opaque');
    this.verbatim = this.opaque && patterns.length === 0;
    this.secret = here.includes('secret');
    this.references = here.filter((means) => typeof means === 'object');
    this.referenceKeys = referenceKeysOf(patterns);
  }

  child(key: string): Shape {
    if (!this.#named.has(key)) {
      this.#otherChild ??= this.#makeChild(key);
      return this.#otherChild;
    }
    let child = this.#named.get(key);
    if (child === undefined) {
      child = this.#makeChild(key);
      this.#named.set(key, child);
    }
    return child;
  }

  #makeChild(key: string): Shape {
    const below = this.#patterns.flatMap(({ parts, means }) => {
      const [first, ...rest] = parts;
      if (first === '**') return [{ parts, means }];
      return first === key || first === '*' ? [{ parts: rest, means }] : [];
    });
    const patterns = withZeroDepth(below);
    const isSame =
      patterns.length === this.#patterns.length &&
      patterns.every(
        ({ parts, means }, at) =>
          means === this.#patterns[at]?.means && parts.length === this.#patterns[at]?.parts.length,
      );
    return isSame && this.opaque ? this : new PatternShape(patterns, this.opaque);
  }
}

function referenceKeysOf(patterns: readonly Pattern[]): ReadonlyMap<string, ReferenceField> {
  const keys = new Map<string, ReferenceField>();
  for (const { parts, means } of patterns) {
    const named = parts.length === 1 && parts[0] !== '*' && parts[0] !== '**';
    if (!named || typeof means !== 'object' || means.manifestField === '') continue;
    keys.set(means.manifestField, means);
    keys.set(toSnakeCase(means.manifestField), means);
  }
  return keys;
}
