/** Makes the path templates of the OpenAPI document disjoint where two could match one path. */
import type { OpenApiJson } from './json-schema.ts';

interface Exclusion {
  readonly path: string;
  readonly parameter: string;
  /** Fixed word of another template. */
  readonly word: string;
}

/**
 * Two templates are ambiguous when each has a fixed word where the other has a parameter. The first such word takes
 * precedence, so the parameter of the other template excludes it.
 */
export function exclusionsOf(paths: readonly string[]): Exclusion[] {
  const templates = paths.map((path) => ({ path, words: path.split('/') }));
  const byLength = Map.groupBy(templates, ({ words }) => words.length);
  return [...byLength.values()].flatMap((same) =>
    same.flatMap((one, at) => same.slice(at + 1).flatMap((other) => exclusionOf(one, other) ?? [])),
  );
}

type Template = { readonly path: string; readonly words: readonly string[] };

function exclusionOf(one: Template, other: Template): Exclusion | null {
  let first: Exclusion | null = null;
  let isOneFixed = false;
  let isOtherFixed = false;
  for (const [at, word] of one.words.entries()) {
    const against = other.words[at]!;
    if (isParameter(word) === isParameter(against)) {
      if (!isParameter(word) && word !== against) return null;
      continue;
    }
    if (isParameter(word)) {
      isOtherFixed = true;
      first ??= { path: one.path, parameter: word.slice(1, -1), word: against };
    } else {
      isOneFixed = true;
      first ??= { path: other.path, parameter: against.slice(1, -1), word };
    }
  }
  return isOneFixed && isOtherFixed ? first : null;
}

function isParameter(word: string): boolean {
  return word.startsWith('{');
}

/** Adds the exclusions to the schemas of the parameters. */
export function separateTemplates(paths: Readonly<Record<string, OpenApiJson>>): void {
  const exclusions = Map.groupBy(
    exclusionsOf(Object.keys(paths)),
    ({ path, parameter }) => `${path} ${parameter}`,
  );
  for (const same of exclusions.values()) {
    const { path, parameter } = same[0]!;
    const words = [...new Set(same.map(({ word }) => word))];
    for (const operation of Object.values(paths[path]!) as OpenApiJson[]) {
      exclude(operation, parameter, words);
    }
  }
}

function exclude(operation: OpenApiJson, name: string, words: readonly string[]): void {
  const parameters = operation.parameters as OpenApiJson[];
  operation.parameters = parameters.map((parameter) =>
    parameter.in === 'path' && parameter.name === name
      ? { ...parameter, schema: { ...(parameter.schema as OpenApiJson), not: { enum: words } } }
      : parameter,
  );
}
