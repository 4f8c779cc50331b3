/**
 * Merges one part of a manifest over another: maps by key, everything else as a whole. Written here
 * because merge libraries track neither positions nor both key spellings.
 */

import { type Shape, toSnakeCase } from '../resources/spec-shape.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** A part of the result at another path than in its layer. */
export interface Part {
  readonly layer: 'lower' | 'upper';
  /** Path in the result. */
  readonly to: Segments;
  /** Path in its layer. */
  readonly from: Segments;
}

/** A part of a patch without a target. */
interface Misfit {
  /** Path in the patch. */
  readonly from: Segments;
  /** Path of the intended target, as far as it exists. */
  readonly to: Segments;
  readonly message: string;
  readonly fix?: string;
}

export interface MergeResult {
  readonly value: unknown;
  /**
   * Everything else has the same path in the result as in its layer. Inner parts take precedence.
   */
  readonly parts: readonly Part[];
  readonly misfits: readonly Misfit[];
}

/**
 * Merges `upper` over `lower`.
 *
 * @param at path in the result and in the upper layer
 * @param lowerAt path in the lower layer, where it differs
 * @param shape of the value; null where keys are taken exactly as written
 * @param isPatch null removes a field, and a map selects entries of a list by name
 */
export function merge(
  lower: unknown,
  upper: unknown,
  {
    at,
    lowerAt = at,
    shape,
    isPatch,
  }: { at: Segments; lowerAt?: Segments; shape: Shape | null; isPatch: boolean },
): MergeResult {
  const merging = new Merging(isPatch);
  const value = merging.lay(lower, upper, { to: at, lower: lowerAt, upper: at, shape });
  return { value, parts: merging.parts, misfits: merging.misfits };
}

/** The current paths in the result and in both layers. */
interface Spot {
  readonly to: Segments;
  readonly lower: Segments;
  readonly upper: Segments;
  readonly shape: Shape | null;
}

type Entry = readonly [key: string, value: unknown];

class Merging {
  readonly parts: Part[] = [];
  readonly misfits: Misfit[] = [];
  readonly #isPatch: boolean;

  constructor(isPatch: boolean) {
    this.#isPatch = isPatch;
  }

  lay(lower: unknown, upper: unknown, spot: Spot): unknown {
    const isMerged = isTree(upper) && spot.shape?.secret !== true;
    if (isMerged && isTree(lower)) return this.#maps(lower, upper, spot);
    if (isMerged && this.#isPatch && Array.isArray(lower)) return this.#entries(lower, upper, spot);
    this.parts.push({ layer: 'upper', to: spot.to, from: spot.upper });
    // There is nothing below, so nothing can be removed either.
    return isMerged && this.#isPatch ? this.#maps({}, upper, spot) : upper;
  }

  #maps(
    lower: Readonly<Record<string, unknown>>,
    upper: Readonly<Record<string, unknown>>,
    spot: Spot,
  ): unknown {
    const entries: Entry[] = [];
    const laid = new Set<string>();
    const keys = this.#keysOf(upper, spot.shape);
    for (const key of Object.keys(lower)) {
      const other = keys.get(spelling(key, spot.shape));
      if (other === undefined || laid.has(other)) {
        this.#keep(spot, key, key);
        entries.push([key, lower[key]]);
        continue;
      }
      laid.add(other);
      if (this.#isPatch && upper[other] === null) continue;
      entries.push([key, this.lay(lower[key], upper[other], below(spot, key, key, other))]);
    }
    for (const key of Object.keys(upper)) {
      if (laid.has(key)) continue;
      const inner = below(spot, key, key, key);
      if (!this.#isPatch || upper[key] !== null) {
        entries.push([key, this.lay(undefined, upper[key], inner)]);
      } else {
        const message = `there is no ${key} to remove`;
        this.misfits.push({ from: inner.upper, to: spot.lower, message, fix: 'remove the line' });
      }
    }
    return Object.fromEntries(entries);
  }

  /** Returns the keys of the upper layer by canonical spelling; the first of two counts. */
  #keysOf(upper: Readonly<Record<string, unknown>>, shape: Shape | null): Map<string, string> {
    const keys = new Map<string, string>();
    for (const key of Object.keys(upper)) {
      const common = spelling(key, shape);
      if (!keys.has(common)) keys.set(common, key);
    }
    return keys;
  }

  /** Merges a list of which a patch names entries; removed entries leave no gap. */
  #entries(
    lower: readonly unknown[],
    upper: Readonly<Record<string, unknown>>,
    spot: Spot,
  ): unknown {
    const named = new Map<number, string>();
    for (const name of Object.keys(upper)) {
      const found = lower.flatMap((entry, at) => (nameOf(entry) === name ? [at] : []));
      if (found.length === 1) named.set(found[0]!, name);
      else this.#misses(spot, name, lower, found.length);
    }
    const items: unknown[] = [];
    lower.forEach((entry, at) => {
      const name = named.get(at);
      const to = `${items.length}`;
      if (name === undefined) {
        this.#keep(spot, to, `${at}`);
        items.push(entry);
      } else if (upper[name] !== null) {
        this.#keep(spot, to, `${at}`);
        items.push(this.lay(entry, upper[name], below(spot, to, `${at}`, name)));
      }
    });
    return items;
  }

  #misses(spot: Spot, name: string, list: readonly unknown[], count: number): void {
    const names = [...new Set(list.flatMap((entry) => nameOf(entry) ?? []))];
    const message =
      count === 0 ? `no entry is called "${name}"` : `${count} entries are called "${name}"`;
    const fix =
      names.length === 0 || count > 1
        ? 'write the whole list'
        : `entries are ${names.join(', ')}; a list in a patch replaces the whole list`;
    this.misfits.push({ from: [...spot.upper, name], to: spot.lower, message, fix });
  }

  /** Records an unchanged value that may have another path now. */
  #keep(spot: Spot, to: string, from: string): void {
    const isSame = to === from && spot.to === spot.lower;
    if (isSame) return;
    this.parts.push({ layer: 'lower', to: [...spot.to, to], from: [...spot.lower, from] });
  }
}

function below({ to, lower, upper, shape }: Spot, key: string, own: string, other: string): Spot {
  const isSame = to === lower && key === own;
  const inner = [...to, key];
  return {
    to: inner,
    lower: isSame ? inner : [...lower, own],
    upper: [...upper, other],
    shape: shape === null ? null : shape.child(spelling(key, shape)),
  };
}

/** Fields have two spellings; free-form keys are taken as written. */
function spelling(key: string, shape: Shape | null): string {
  return shape === null || shape.opaque ? key : toSnakeCase(key);
}

const naming = ['id', 'name', 'key', 'slug', 'type'];

/** Returns whether the value is a map; an encrypted value is a single value. */
function isTree(value: unknown): value is Record<string, unknown> {
  return isMap(value) && !(value instanceof SealedValue);
}

/** Returns the name of a list entry in a patch: the first of these fields that is text. */
function nameOf(entry: unknown): string | undefined {
  if (!isMap(entry)) return undefined;
  const key = naming.find((field) => typeof entry[field] === 'string');
  return key === undefined ? undefined : (entry[key] as string);
}
