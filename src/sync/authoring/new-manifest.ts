/** Generates the first manifest of a kind: the minimum that validates, with what it refers to. */
import { dump } from 'js-yaml';
import { type KindName, kinds, singletonName } from '../../model/kinds/kinds.ts';
import { McpServerSlug } from '../../model/mcp/mcp-server.ts';
import { apiVersion } from '../manifest/document-owner.ts';
import { kindNotes } from './kind-notes.ts';

export interface NewManifest {
  /** Derived from the kind when absent. */
  readonly name: string | undefined;
  /**
   * A workspace that the source declares; when one is needed and none is named, it is generated.
   */
  readonly workspace: string | undefined;
  /** Without the resources that it refers to. */
  readonly alone: boolean;
}

/** Returns the YAML of a document, after those that it refers to, so that `validate` accepts it. */
export function newManifest(kind: KindName, { name, workspace, alone }: NewManifest): string {
  const { isUsuallyPlaced } = kindNotes[kind];
  const place = workspace ?? (isUsuallyPlaced ? madeWorkspace : undefined);
  const own = name ?? nameOf(kind);
  const documents = alone ? [documentOf(kind, own, place)] : documentsOf(kind, own, place);
  const isMade = workspace === undefined && documents.some(({ metadata }) => metadata.workspace);
  const made = isMade && !alone ? [documentOf('Workspace', madeWorkspace, undefined)] : [];
  return [...made, ...documents]
    .map((document) => dump(document, { lineWidth: 100, noRefs: true }))
    .join('---\n');
}

const madeWorkspace = 'team';

interface Document {
  readonly metadata: { readonly name: string; readonly workspace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Referenced resources are in the same workspace, or in a generated one if they need one. */
function documentsOf(
  kind: KindName,
  name: string,
  place: string | undefined,
  spec: Readonly<Record<string, unknown>> = {},
): Document[] {
  const referents = kindNotes[kind].references.flatMap((reference) =>
    documentsOf(
      reference.kind,
      nameOf(reference.kind),
      placeOf(reference.kind, place),
      reference.spec,
    ),
  );
  return [...referents, documentOf(kind, name, place, spec)];
}

function placeOf(kind: KindName, place: string | undefined): string | undefined {
  return place ?? (kinds[kind].workspaced === 'required' ? madeWorkspace : undefined);
}

function documentOf(
  kind: KindName,
  name: string,
  place: string | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Document {
  const { spec, references, hasAddress = false } = kindNotes[kind];
  const slug = hasAddress && McpServerSlug.safeParse(name).success ? { slug: name } : {};
  const pointers = references.map(({ field, kind: other, itemField }) => {
    const away = placeOf(other, place);
    const isNear = away === place;
    const pointer = isNear ? nameOf(other) : `${away}/${nameOf(other)}`;
    return [field, itemField === undefined ? pointer : [{ [itemField]: pointer }]] as const;
  });
  const metadata = { name, ...(place === undefined ? {} : { workspace: place }) };
  const whole = { ...slug, ...Object.fromEntries(pointers), ...more, ...spec };
  return Object.assign({ apiVersion, kind }, { metadata, spec: whole });
}

/** `example-api-key`, or the fixed name of a singleton. */
function nameOf(kind: KindName): string {
  if (kinds[kind].isSingleton === true) return singletonName;
  return `example${kind.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
