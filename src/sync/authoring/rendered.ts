/** Formats composed manifests as YAML with the positions of composed values, or as JSON. */
import { Document, isMap, isScalar, isSeq } from 'yaml';
import { oneLine } from '../../terminal-text.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { substituteAnnotation } from '../manifest/manifest-metadata.ts';
import { placeText } from '../resources/resource-set.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { SourcePlace } from '../yaml/source-place.ts';
import type { Segments } from '../yaml/yaml-position.ts';

/** One document each. */
export function renderedYaml(manifests: readonly Manifest[]): string {
  return manifests
    .map((manifest) => {
      const document = new Document(documentOf(manifest), { version: '1.2', schema: 'core' });
      if (document.contents !== null) {
        document.contents.commentBefore = comment(placeText(manifest.place.start));
      }
      annotate(document.contents, manifest.place, []);
      return document.toString({ lineWidth: 0, indent: 2 });
    })
    .join('---\n');
}

/** One List. */
export function renderedList(
  apiVersion: string,
  manifests: readonly Manifest[],
): Readonly<Record<string, unknown>> {
  return { apiVersion, kind: 'List', items: manifests.map(documentOf) };
}

/** Formats a manifest for its next reader, who substitutes variables in all of it. */
function documentOf({ document }: Manifest): Readonly<Record<string, unknown>> {
  const whole = withoutSealed(document) as Record<string, unknown>;
  const inOrder = ['apiVersion', 'kind', 'metadata', 'spec', 'state'].flatMap((key) =>
    whole[key] === undefined ? [] : [[key, whole[key]] as const],
  );
  return { ...Object.fromEntries(inOrder), metadata: metadataOf(whole) };
}

function metadataOf(whole: Readonly<Record<string, unknown>>): unknown {
  const { annotations, ...metadata } = whole.metadata as Record<string, unknown>;
  if (annotations === undefined || annotations === null) return metadata;
  const { [substituteAnnotation]: _, ...others } = annotations as Record<string, unknown>;
  return Object.keys(others).length > 0 ? { ...metadata, annotations: others } : metadata;
}

/**
 * An encrypted value has no other form; this placeholder is rejected wherever a value is needed.
 */
function withoutSealed(value: unknown): unknown {
  if (value instanceof SealedValue) return { valueFrom: { encrypted: true } };
  if (Array.isArray(value)) return value.map(withoutSealed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSealed(item)]));
}

/** Adds to every composed single value a comment with its related position. */
function annotate(node: unknown, place: SourcePlace, segments: Segments): void {
  if (!place.isComposed) return;
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      annotate(value, place, [...segments, String(isScalar(key) ? key.value : key)]);
    }
  } else if (isSeq(node)) {
    node.items.forEach((item, at) => {
      annotate(item, place, [...segments, `${at}`]);
    });
  } else if (isScalar(node)) {
    const position = place.at(segments);
    if (position.related !== undefined) node.comment = comment(placeText(position));
  }
}

function comment(text: string): string {
  return ` ${oneLine(text)}`;
}
