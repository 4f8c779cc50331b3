/** Finds the special paths of a kind's spec: references, secrets, verbatim subtrees. */
import { type Kind, type KindName, kinds, type ReferenceField } from '../../model/kinds/kinds.ts';
import {
  levelsKey,
  levelsPart,
  remainingParts,
  withoutKeys,
} from '../../model/manifests/path-patterns.ts';

/**
 * The properties of a path in a spec, and the shapes below it. The patterns of the kinds table are
 * compiled to such nodes once, so that walking a spec needs no pattern matching.
 */
export interface Shape {
  readonly opaque: boolean;
  /** Opaque with nothing special below: the value is taken unchanged. */
  readonly verbatim: boolean;
  readonly secret: boolean;
  /** References whose value is exactly at this path. */
  readonly references: readonly ReferenceField[];
  /** Keys, in either spelling, that a manifest uses for a reference below this path. */
  readonly referenceKeys: ReadonlyMap<string, ReferenceField>;
  child(key: string): Shape;
}

/** Returns the shape of a whole spec of this kind. */
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

/** Converts `creditLimit` to the API's spelling `credit_limit`; other spellings stay unchanged. */
export function toSnakeCase(key: string): string {
  let word = words.get(key);
  if (word === undefined) {
    word = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (words.size < wordsMax) words.set(key, word);
  }
  return word;
}

/** Manifest keys repeat, so they are cached; the limit protects against hostile sources. */
const wordsMax = 10_000;

/** Converts `credit_limit` to the usual spelling in manifests, `creditLimit`. */
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
  return patterns.flatMap(({ parts, means }) =>
    withoutKeys(parts).map((remaining) => ({ parts: remaining, means })),
  );
}

class PatternShape implements Shape {
  readonly opaque: boolean;
  readonly verbatim: boolean;
  readonly secret: boolean;
  readonly references: readonly ReferenceField[];
  readonly referenceKeys: ReadonlyMap<string, ReferenceField>;
  readonly #patterns: readonly Pattern[];
  /** Shapes of the keys in patterns; undefined until used. */
  readonly #named: Map<string, Shape | undefined>;
  /** The shape of every other key. */
  #otherChild: Shape | undefined;

  constructor(patterns: readonly Pattern[], insideOpaque: boolean) {
    const here = patterns.filter(({ parts }) => parts.length === 0).map(({ means }) => means);
    this.#patterns = patterns;
    this.#named = new Map(patterns.map(({ parts }) => [nameIn(parts), undefined]));
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
    const patterns = this.#patterns.flatMap(({ parts, means }) =>
      remainingParts(parts, key).map((remaining) => ({ parts: remaining, means })),
    );
    const isSame =
      patterns.length === this.#patterns.length &&
      patterns.every(
        ({ parts, means }, at) =>
          means === this.#patterns[at]?.means &&
          parts.join('.') === this.#patterns[at]?.parts.join('.'),
      );
    return isSame && this.opaque ? this : new PatternShape(patterns, this.opaque);
  }
}

/** The key for which a pattern has a shape of its own. */
function nameIn([first = '']: readonly string[]): string {
  return first === levelsPart ? levelsKey : first;
}

const wildcards: ReadonlySet<string> = new Set(['*', '**', levelsPart]);

function referenceKeysOf(patterns: readonly Pattern[]): ReadonlyMap<string, ReferenceField> {
  const keys = new Map<string, ReferenceField>();
  for (const { parts, means } of patterns) {
    const named = parts.length === 1 && !wildcards.has(parts[0]!);
    if (!named || typeof means !== 'object' || means.manifestField === '') continue;
    keys.set(means.manifestField, means);
    keys.set(toSnakeCase(means.manifestField), means);
  }
  return keys;
}
