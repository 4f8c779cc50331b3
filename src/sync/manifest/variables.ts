/** Knows which documents have variables put into them, and where that goes wrong. */
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

/** Files of this name are taken as they are. */
function isRawName(path: string): boolean {
  return /\.raw\.(ya?ml|json)$/i.test(path);
}
