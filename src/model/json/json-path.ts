/** Reads a subset of JSONPath (RFC 9535): names, indexes, wildcards and descendants; no filters and no slices. */

type Step =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | { readonly kind: 'descendants' };

export type JsonPath = readonly Step[];

const pathLengthMax = 512;
const stepsMax = 32;
const tokens =
  /\.\.(?=[[\w*$])|\.(\*|[\p{L}_$][\p{L}\p{N}_$-]*)|(?<=\.\.)(\*|[\p{L}_$][\p{L}\p{N}_$-]*)|\[(?:(\*)|(-?\d{1,9})|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/uy;

/** Null for a text that is no path of the subset. `$.files[*].path`, `$..command`, `$['a b']`. */
export function parseJsonPath(text: string): JsonPath | null {
  if (!text.startsWith('$') || text.length > pathLengthMax) return null;
  const steps: Step[] = [];
  tokens.lastIndex = 1;
  while (tokens.lastIndex < text.length) {
    const match = tokens.exec(text);
    if (match === null || steps.length === stepsMax) return null;
    steps.push(stepOf(match));
  }
  return steps;
}

function stepOf([whole, dotted, descendant, star, index, single, double]: RegExpExecArray): Step {
  if (whole === '..') return { kind: 'descendants' };
  const name = dotted ?? descendant;
  if (name === '*' || star !== undefined) return { kind: 'all' };
  if (name !== undefined) return { kind: 'name', name };
  if (index !== undefined) return { kind: 'index', index: Number(index) };
  return { kind: 'name', name: (single ?? double ?? '').replaceAll(/\\(.)/gs, '$1') };
}

/** The values at the path; null when there are more than `max`. */
export function valuesAtPath(document: unknown, path: JsonPath, max: number): unknown[] | null {
  let values: unknown[] = [document];
  for (const step of path) {
    const next: unknown[] = [];
    for (const value of values) {
      for (const found of valuesAtStep(value, step)) {
        if (next.length === max) return null;
        next.push(found);
      }
    }
    values = next;
  }
  return values;
}

function* valuesAtStep(value: unknown, step: Step): Generator<unknown> {
  if (step.kind === 'descendants') yield value;
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  switch (step.kind) {
    case 'name':
      if (!isList && Object.hasOwn(value, step.name)) yield (value as Members)[step.name];
      return;
    case 'index':
      if (isList && value.at(step.index) !== undefined) yield value.at(step.index);
      return;
    case 'all':
      yield* Object.values(value);
      return;
    case 'descendants':
      for (const below of Object.values(value)) yield* valuesAtStep(below, step);
  }
}

type Members = Readonly<Record<string, unknown>>;
