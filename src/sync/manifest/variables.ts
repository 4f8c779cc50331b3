/** Knows which documents have variables put into them, and where that goes wrong. */

import { escapedTexts, keepVariables } from '../overlay/kept-variables.ts';
import type { Layer } from '../overlay/layers.ts';
import { substitute, type Variables } from '../overlay/substitute.ts';
import type { SourceFault } from '../source/source-files.ts';
import type { DocumentPlace } from '../yaml/place.ts';
import type { YamlDocument } from '../yaml/yaml-document.ts';
import { substitutionDisabled } from './metadata.ts';

/** A manifest, a patch or defaults once variables are replaced, with what is wrong with those. */
export interface WithVariables extends Layer {
  readonly faults: SourceFault[];
  /** Whether all of them are about values of the spec. */
  readonly isInSpec: boolean;
}

/** @param raw the document, or one item of it where it is a List */
export function withVariables(
  raw: Record<string, unknown>,
  document: YamlDocument,
  place: DocumentPlace,
  variables: Variables,
): WithVariables {
  const isPlain =
    !document.mentionsVariables || isRawName(document.source.path) || substitutionDisabled(raw);
  if (variables.areKept === true) return withKept(raw, place, variables, isPlain);
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

/** The spec as it is written but for values, and the rest as it comes to be: it says what the manifest is. */
function withKept(
  { spec, ...raw }: Record<string, unknown>,
  place: DocumentPlace,
  variables: Variables,
  isPlain: boolean,
): WithVariables {
  const envelope = isPlain ? raw : substitute(raw, variables).value;
  const kept = keepVariables(spec, ['spec'], variables.values, isPlain);
  const value = {
    ...(escapedTexts(envelope) as Record<string, unknown>),
    ...(spec === undefined ? {} : { spec: kept.value }),
  };
  return { value, place: place.after(kept), faults: [], isInSpec: true };
}

/** Files of this name are taken as they are. */
function isRawName(path: string): boolean {
  return /\.raw\.(ya?ml|json)$/i.test(path);
}
