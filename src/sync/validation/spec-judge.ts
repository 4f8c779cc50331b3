/** Validates the specs of one source by the schemas of their kinds and by the content checks. */
import type { z } from 'zod';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { loadCompilingSpecSchema } from '../../model/kinds/spec-schemas.ts';
import type { SelfCompilingSchema } from '../../model/wire/self-compiling-schema.ts';
import type { EncryptedFiles } from '../manifest/encrypted-files.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { DesiredResource, Identity } from '../resources/resource-set.ts';
import { segmentsOf } from '../resources/spec-paths.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { DocumentPlace } from '../yaml/source-place.ts';
import { type Canonical, canonicalise } from './canonical.ts';
import type { contentFaults, contentWarnings } from './content-faults.ts';
import { noCanonical } from './declaration.ts';
import { ReadValues, type SecretSources } from './secrets.ts';
import { writtenPath } from './spec-faults.ts';

const freeForm: ReadonlySet<KindName> = new Set([
  'Config',
  'Guardrail',
  'McpIntegration',
  'Integration',
  'SecretReference',
  'PromptPartial',
  'Prompt',
  'Deployment',
] as const);

type Report = (fault: SourceFault) => void;

/** Loads the schema of a kind with its first manifest. */
export class SpecJudge {
  readonly #values: ReadValues;
  readonly #schemas = new Map<KindName, SelfCompilingSchema<z.ZodObject>>();
  #judges:
    | { contentFaults: typeof contentFaults; contentWarnings: typeof contentWarnings }
    | undefined;

  constructor(sources: SecretSources, files: readonly SourceFile[]) {
    this.#values = new ReadValues(sources, files);
  }

  get encryptedFiles(): EncryptedFiles {
    return this.#values.encryptedFiles;
  }

  /** Returns whether a manifest must be prepared before validation; most need not. */
  needs({ kind, absent }: Manifest): boolean {
    return kind !== 'External' && (!this.#schemas.has(kind) || holdsSecrets(kind, absent));
  }

  /** Loads the schema of the kind, and queries the values in the spec. */
  async prepare({ kind, absent, spec, place }: Manifest): Promise<void> {
    if (kind === 'External') return;
    if (!this.#schemas.has(kind)) {
      this.#schemas.set(kind, await loadCompilingSpecSchema(kind));
      if (freeForm.has(kind)) {
        this.#judges ??= await import('./content-faults.ts');
      }
    }
    if (holdsSecrets(kind, absent)) await this.#values.query({ spec, place });
  }

  /** Returns undefined when the faults reported to `report` leave no usable spec. */
  canonical(kind: KindName, manifest: Manifest, report: Report): Canonical | undefined {
    if (manifest.absent) return noCanonical;
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#values, report);
  }

  /**
   * Reports what the server would refuse in the free-form parts of a canonical spec to `report`, and what
   * it would accept without effect to `warn`.
   */
  content(
    identity: Identity,
    manifest: Manifest,
    { spec, secrets }: Canonical,
    { report, warn }: { readonly report: Report; readonly warn: Report },
  ): void {
    if (this.#judges === undefined || !freeForm.has(identity.kind) || manifest.absent) return;
    const content = { identity, spec, secrets, positionOf: positionsAsRead(manifest) };
    this.#judges.contentFaults(content).forEach(report);
    this.#judges.contentWarnings(content).forEach(warn);
  }
}

function holdsSecrets(kind: KindName, absent: boolean): boolean {
  return !absent && kinds[kind].secrets.length > 0;
}

/**
 * Returns the source position of a JSON pointer into the canonical spec. The written document is
 * parsed again on demand, because few positions are needed and holding all would take memory.
 */
export function positionsOf(manifest: Manifest): DesiredResource['positionOf'] {
  const { place } = manifest;
  return place instanceof DocumentPlace && !place.isComposed
    ? positionsIn(place)
    : positionsAsRead(manifest);
}

function positionsIn(place: DocumentPlace): DesiredResource['positionOf'] {
  return (pointer) => place.at(writtenPath(place.outline(['spec']), segmentsOf(pointer)));
}

function positionsAsRead({ place, spec }: Manifest): DesiredResource['positionOf'] {
  return (pointer) => place.at(writtenPath(spec, segmentsOf(pointer)));
}
