/** Reads `metadata.ignoreFields`, the paths of spec fields that other tools own. */
import type { z } from 'zod';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPatternOrParent } from '../../model/manifests/path-patterns.ts';
import { didYouMean } from '../../suggest.ts';
import { keysOfPath } from '../manifest/field-path.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { shapeOf, toSnakeCase } from '../resources/spec-shape.ts';
import { fieldsAt } from './spec-faults.ts';
import type { SpecReport } from './spec-report.ts';

/**
 * Returns the path of each field in the canonical spec; faults go to the report.
 *
 * @param body the schema of the kind
 */
export function readIgnoredFields(
  kind: KindName,
  body: z.ZodObject,
  { ignoreFields }: Manifest,
  report: SpecReport,
): string[][] {
  return ignoreFields.flatMap((text, at) => {
    const refuse = (message: string, fix?: string): [] => {
      report.fault(['metadata', 'ignoreFields', `${at}`], 'ignore-fields', message, fix);
      return [];
    };
    const keys = keysOf(text);
    if (keys === undefined) {
      const fix = 'entries of a list cannot be selected: name the list';
      return refuse(`"${text}" is not a path of a field, like spec.defaults.metadata.team`, fix);
    }
    const path: string[] = [];
    let shape = shapeOf(kind);
    for (const key of keys) {
      const known = shape.opaque ? [] : fieldsAt(kind, body, path);
      const isKnown = known.some((field) => toSnakeCase(field) === toSnakeCase(key));
      if (known.length > 0 && !isKnown) {
        return refuse(`a ${kind} has no field ${text}`, didYouMean(key, known));
      }
      const reference = shape.opaque ? undefined : shape.referenceKeys.get(key);
      const snake = shape.opaque ? key : toSnakeCase(key);
      const name = reference === undefined ? snake : reference.path.split('.').at(-1)!;
      path.push(name);
      shape = shape.child(name);
    }
    if (isSecretPath(kind, path)) {
      const fix = 'use valueFrom with optional: true, and leave it unset; or ignore its parent';
      return refuse(`${text} is a write-only value, which no server returns`, fix);
    }
    return [path];
  });
}

/** With or without a leading `spec`; undefined for an invalid path. */
function keysOf(text: string): string[] | undefined {
  const keys = keysOfPath(text) ?? [];
  const below = keys[0] === 'spec' ? keys.slice(1) : keys;
  return below.length > 0 ? below : undefined;
}

/**
 * Returns whether a path leads to a write-only value, or into one. A parent of one may be ignored; its
 * write-only values then stay as they are on the server.
 */
function isSecretPath(kind: KindName, path: readonly string[]): boolean {
  return kinds[kind].secrets.some((pattern) => matchesPatternOrParent(pattern, path));
}
