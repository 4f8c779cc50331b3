/**
 * Converts the spec of a manifest to canonical form, completes it, and validates it by its schema.
 */
import type { z } from 'zod';
import { hasCredential, type KindName } from '../../model/kinds/kinds.ts';
import type { SelfCompilingSchema } from '../../model/wire/self-compiling-schema.ts';
import type { Secret } from '../../secret.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { toScalar } from '../overlay/substitute.ts';
import type { DesiredResource, Spec } from '../resources/resource-set.ts';
import { putAt, valueAt } from '../resources/spec-paths.ts';
import type { SourceFault } from '../source/source-files.ts';
import { BodyConversion } from './body-conversion.ts';
import { readIgnoredFields } from './ignored-fields.ts';
import { idStandIn, type PendingReference, Placeholders, workspacePlace } from './placeholders.ts';
import { readRotation } from './rotation.ts';
import { readSecretTarget } from './secret-output.ts';
import type { ReadValues } from './secrets.ts';
import { issueFaults, writtenPath } from './spec-faults.ts';
import { SpecReport } from './spec-report.ts';

export interface Canonical {
  /** References are `{"$ref": ""}` until resolved. */
  readonly spec: Spec;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly references: readonly PendingReference[];
  readonly secretOutput: DesiredResource['secretOutput'];
  readonly rotation: DesiredResource['rotation'];
  readonly ignoreFields: DesiredResource['ignoreFields'];
}

/** A manifest and the schema of its converted spec. */
interface ConversionRequest {
  readonly kind: KindName;
  readonly schema: SelfCompilingSchema<z.ZodObject>;
  readonly manifest: Manifest;
}

type Body = Record<string, unknown>;

/**
 * Converts and validates one spec.
 *
 * @param schema of the converted spec
 * @returns undefined when the faults reported to `tell` leave no usable spec
 */
export function canonicalise(
  kind: KindName,
  schema: SelfCompilingSchema<z.ZodObject>,
  manifest: Manifest,
  values: ReadValues,
  tell: (fault: SourceFault) => void,
): Canonical | undefined {
  const request = { kind, schema, manifest };
  const report = new SpecReport(manifest, tell);
  const placeholders = new Placeholders();
  const outputKey = secretOutputKey(request);
  const secretOutput =
    outputKey === undefined ? null : readSecretTarget(manifest, outputKey, values, report.pass);
  const conversion = new BodyConversion(kind, schema.plain.shape, values, report, placeholders);
  const asksRotation = hasCredential(kind) && 'rotation' in manifest.spec;
  const read = asksRotation
    ? readRotation(manifest, schema.plain, outputKey !== undefined, report.pass)
    : null;
  const own = [
    ...(outputKey === undefined ? [] : [outputKey]),
    ...(asksRotation ? ['rotation'] : []),
  ];
  const body = conversion.convert(manifest.spec, own);
  if (read?.policy != null) body.rotation_policy = read.policy;
  complete(request, body, report, placeholders);
  const spec = parse(request, body, report);
  const ignoreFields =
    manifest.ignoreFields.length === 0
      ? undefined
      : readIgnoredFields(kind, schema.plain, manifest, report);
  if (spec === undefined || report.isFaulty) return undefined;
  placeholders.putInto(spec);
  const { secrets, references } = placeholders;
  return {
    spec,
    secrets,
    references,
    secretOutput,
    ignoreFields,
    rotation: read?.rotation ?? null,
  };
}

/** Returns the key of `secretOutput` in the spec, which is not part of the API body. */
function secretOutputKey({ kind, manifest: { spec } }: ConversionRequest): string | undefined {
  if (!hasCredential(kind)) return undefined;
  return ['secretOutput', 'secret_output'].find((key) => key in spec);
}

/** Adds what the envelope implies: the name, the workspace, and the type of a key. */
function complete(
  { kind, schema, manifest }: ConversionRequest,
  body: Body,
  report: SpecReport,
  placeholders: Placeholders,
): void {
  const { shape } = schema.plain;
  const { name, workspace } = manifest;
  if ('name' in shape) body.name ??= name;
  if (kind === 'ApiKey') {
    body.type ??= workspace === null ? 'organisation' : 'workspace';
    body.sub_type ??= 'service';
  }
  if (!('workspace_id' in shape)) return;
  if (body.workspace_id !== undefined) {
    const key = 'workspaceId' in manifest.spec ? 'workspaceId' : 'workspace_id';
    const fix = 'set metadata.workspace instead';
    report.fault(['spec', key], 'workspace', 'the workspace is not part of the spec', fix);
  } else if (workspace !== null) {
    placeholders.addReference('Workspace', workspace, ['workspace_id'], workspacePlace);
    body.workspace_id = idStandIn;
  }
}

function parse(request: ConversionRequest, body: Body, report: SpecReport): Spec | undefined {
  const { kind, schema, manifest } = request;
  let result = schema.safeParse(body);
  if (!result.success && retype(manifest, body, result.error.issues)) {
    result = schema.safeParse(body);
  }
  if (result.success) return result.data as Spec;
  // A schema error at a position with a reported fault comes from the stand-in there.
  const issues = result.error.issues.filter(
    ({ path }) => !report.covers(writtenPath(manifest.spec, path.map(String))),
  );
  const sent = { schema: schema.plain, body };
  for (const fault of issueFaults(kind, manifest, sent, issues)) report.pass(fault);
  return undefined;
}

/** Converts text that came entirely from a variable to the type in the schema. */
function retype(
  { spec, place }: Manifest,
  body: Body,
  issues: readonly { path: PropertyKey[] }[],
): boolean {
  let changed = false;
  for (const { path } of issues) {
    const segments = path.map(String);
    const value = valueAt(body, segments);
    if (typeof value !== 'string' || !place.isVariable(writtenPath(spec, segments))) continue;
    const scalar = toScalar(value);
    changed ||= scalar !== value;
    putAt(body, segments, scalar);
  }
  return changed;
}
