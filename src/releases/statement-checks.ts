/** Compares in-toto statements with the artefact that they are about. */
import { z } from 'zod';
import { ReleaseFault } from './release-fault.ts';
import { buildType, predicateTypes } from './release-names.ts';

const Statement = z.object({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(
    z.object({ name: z.string().optional(), digest: z.record(z.string(), z.string()) }),
  ),
  predicateType: z.string(),
  predicate: z.unknown(),
});

const Provenance = z.object({
  buildDefinition: z.object({
    buildType: z.literal(buildType),
    externalParameters: z.object({
      source: z.object({
        uri: z.string(),
        commit: z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/),
      }),
      version: z.string(),
    }),
    resolvedDependencies: z.array(
      z.object({ uri: z.string(), digest: z.record(z.string(), z.string()) }),
    ),
  }),
  runDetails: z.object({ builder: z.object({ id: z.string().min(1) }) }),
});

const SbomDocument = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string().optional() }) }),
  components: z.array(z.object({ name: z.string() })),
});

/** Facts about the build from a statement of provenance. */
export interface BuildFacts {
  readonly version: string;
  readonly commit: string;
  readonly repository: string;
  readonly builder: string;
}

/** Facts that the caller demands of provenance; null for any. */
export interface DemandedBuild {
  readonly commit: string | null;
  readonly builder: string | null;
}

/** The type of the predicate; null when the document is no statement. */
export function predicateTypeOf(document: unknown): string | null {
  const read = Statement.safeParse(document);
  return read.success ? read.data.predicateType : null;
}

/**
 * Returns the predicate of a statement about the artefact with this SHA-256 in hexadecimal.
 *
 * @throws ReleaseFault when it is about another artefact, or has another type
 */
export function requirePredicate(
  document: unknown,
  type: keyof typeof predicateTypes,
  sha256: string,
): unknown {
  const { subject, predicateType, predicate } = parse(Statement, document, 'statement');
  if (predicateType !== predicateTypes[type]) {
    throw new ReleaseFault(
      `the statement has the predicate ${predicateType}, not ${predicateTypes[type]}`,
    );
  }
  if (subject.some(({ digest }) => digest.sha256 === sha256)) return predicate;
  const [other] = subject;
  throw new ReleaseFault(
    `its ${type} is about another artefact (${other?.name ?? 'no name'}, sha256 ${other?.digest.sha256 ?? 'missing'}), not about sha256 ${sha256}`,
  );
}

/** @throws ReleaseFault when the predicate is incomplete or states another build than demanded */
export function requireBuild(predicate: unknown, demanded: DemandedBuild): BuildFacts {
  const { buildDefinition, runDetails } = parse(Provenance, predicate, 'provenance');
  const { source, version } = buildDefinition.externalParameters;
  const builder = runDetails.builder.id;
  const isListed = buildDefinition.resolvedDependencies.some(
    ({ uri, digest }) => uri === source.uri && digest.gitCommit === source.commit,
  );
  if (!isListed) {
    throw new ReleaseFault('the provenance does not list its source commit as a dependency');
  }
  if (demanded.commit !== null && source.commit !== demanded.commit) {
    throw new ReleaseFault(`it was built from commit ${source.commit}, not ${demanded.commit}`);
  }
  if (demanded.builder !== null && builder !== demanded.builder) {
    throw new ReleaseFault(`it was built by ${builder}, not ${demanded.builder}`);
  }
  return { version, commit: source.commit, repository: source.uri, builder };
}

/** Returns the number of components. @throws ReleaseFault when it is no CycloneDX document */
export function requireSbom(document: unknown): number {
  return parse(SbomDocument, document, 'SBOM').components.length;
}

function parse<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  what: string,
): z.infer<Shape> {
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new ReleaseFault(
    `the ${what} is malformed at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
  );
}
