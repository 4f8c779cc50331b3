/** Knows how the specs of one source are judged: by the schema of their kind, and by what no schema can say. */
import type { z } from 'zod';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { loadCompilingSpecSchema } from '../../model/kinds/spec-schemas.ts';
import type { SelfCompilingSchema } from '../../model/wire/self-compiling-schema.ts';
import type { EncryptedFiles } from '../manifest/encrypted-files.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { DesiredResource, Identity } from '../resources/resource-set.ts';
import { segmentsOf } from '../resources/spec-paths.ts';
import type { SourceFault, SourceFile } from '../source/source-files.ts';
import { DocumentPlace } from '../yaml/place.ts';
import { type Canonical, canonicalise } from './canonical.ts';
import type { contentFaults } from './content-faults.ts';
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

/** Loads what it takes to judge a kind when the first manifest of it comes. */
export class SpecJudge {
  readonly #values: ReadValues;
  readonly #schemas = new Map<KindName, SelfCompilingSchema<z.ZodObject>>();
  #contentFaults: typeof contentFaults | undefined;

  constructor(sources: SecretSources, files: readonly SourceFile[]) {
    this.#values = new ReadValues(sources, files);
  }

  get encryptedFiles(): EncryptedFiles {
    return this.#values.encryptedFiles;
  }

  /** Whether there is anything to wait for before a manifest is judged: of most there is not. */
  needs({ kind, absent }: Manifest): boolean {
    return kind !== 'External' && (!this.#schemas.has(kind) || holdsSecrets(kind, absent));
  }

  /** Loads the schema of its kind, and what its spec names. */
  async prepare({ kind, absent, spec, place }: Manifest): Promise<void> {
    if (kind === 'External') return;
    if (!this.#schemas.has(kind)) {
      this.#schemas.set(kind, await loadCompilingSpecSchema(kind));
      if (freeForm.has(kind)) {
        this.#contentFaults ??= (await import('./content-faults.ts')).contentFaults;
      }
    }
    if (holdsSecrets(kind, absent)) await this.#values.ask({ spec, place });
  }

  /** Undefined when `report` was told of a fault that leaves no usable spec. */
  canonical(kind: KindName, manifest: Manifest, report: Report): Canonical | undefined {
    if (manifest.absent) return noCanonical;
    const schema = this.#schemas.get(kind);
    if (schema === undefined) throw new Error(`the schema of ${kind} is not loaded`);
    return canonicalise(kind, schema, manifest, this.#values, report);
  }

  /** Tells what the server would refuse in the free-form parts of a canonical spec. */
  content(
    identity: Identity,
    manifest: Manifest,
    { spec, secrets }: Canonical,
    report: Report,
  ): void {
    if (this.#contentFaults === undefined || !freeForm.has(identity.kind) || manifest.absent)
      return;
    const positionOf = positionsAsRead(manifest);
    this.#contentFaults({ identity, spec, secrets, positionOf }).forEach(report);
  }
}

function holdsSecrets(kind: KindName, absent: boolean): boolean {
  return !absent && kinds[kind].secrets.length > 0;
}

/**
 * Where a place of the canonical spec, as JSON pointer, stands in the source. Does not keep what is
 * written, as few places are asked for: of what is written in one document it reads the keys again.
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
