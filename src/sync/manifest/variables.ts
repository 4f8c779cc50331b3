/** Replaces variables in documents and reports where that fails. */

import type { Layer } from '../overlay/layers.ts';
import { substitute, type Variables } from '../overlay/substitute.ts';
import { escapedTexts, substituteValuesOnly } from '../overlay/values-only.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { DocumentPlace } from '../yaml/source-place.ts';
import type { YamlDocument } from '../yaml/yaml-document.ts';
import { substitutionDisabled } from './manifest-metadata.ts';

/** A manifest, a patch or defaults with variables replaced, and the faults found. */
export interface WithVariables extends Layer {
  readonly faults: SourceFault[];
  /** Whether all faults are about values of the spec. */
  readonly isInSpec: boolean;
}

/** @param raw the document, or one item of a List */
export function withVariables(
  raw: Record<string, unknown>,
  document: YamlDocument,
  place: DocumentPlace,
  variables: Variables,
): WithVariables {
  const isPlain =
    !document.mentionsVariables || isRawName(document.source.path) || substitutionDisabled(raw);
  if (variables.leavesVariables === true)
    return withVariablesAsWritten(raw, place, variables, isPlain);
  if (isPlain) return { value: raw, place, faults: [], isInSpec: true };
  const { value, faults, ...replaced } = substitute(raw, variables);
  const after = place.after(replaced);
  return {
    value: value as Record<string, unknown>,
    place: after,
    isInSpec: faults.every(({ segments }) => segments[0] === 'spec'),
    faults: faults.map(({ segments, code, message, fix }) =>
      after.fault(segments, code, message, fix),
    ),
  };
}

/**
 * Returns the spec as written except for values, and the rest with variables replaced, because it
 * identifies the manifest.
 */
function withVariablesAsWritten(
  { spec, ...raw }: Record<string, unknown>,
  place: DocumentPlace,
  variables: Variables,
  isPlain: boolean,
): WithVariables {
  const envelope = isPlain ? raw : substitute(raw, variables).value;
  const substituted = substituteValuesOnly(spec, ['spec'], variables.values, isPlain);
  const value = {
    ...(escapedTexts(envelope) as Record<string, unknown>),
    ...(spec === undefined ? {} : { spec: substituted.value }),
  };
  return { value, place: place.after(substituted), faults: [], isInSpec: true };
}

/** Files with this suffix are taken unchanged. */
function isRawName(path: string): boolean {
  return /\.raw\.(ya?ml|json)$/i.test(path);
}
