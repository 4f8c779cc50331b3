/** Builds the requests that carry out one planned change: method, path and body. */
import type { z } from 'zod';
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { matchesPattern } from '../../model/manifests/path-patterns.ts';
import { secretMask } from '../../model/secrets/secret-fields.ts';
import { fieldsToSend } from '../diff/sent-fields.ts';
import type { PlannedChange } from '../plan/plan-model.ts';
import { recordedGeneration, wantedGeneration } from '../plan/rotation.ts';
import type {
  DesiredResource,
  Identity,
  LiveResource,
  SourceInfo,
  Spec,
  SpecJson,
} from '../resources/resource-set.ts';
import {
  isLiveSecret,
  isPlainObject,
  isReference,
  isSecret,
  mapSpec,
  pointerOf,
} from '../resources/spec-paths.ts';

/** The ids to which a reference resolves when the resource exists. */
export interface Target {
  readonly id: string;
  readonly slug: string | null;
}

/** The label to which it resolves while the same change set creates it: the label of that change. */
interface Label {
  readonly id: { readonly $ref: string };
  readonly slug: { readonly $ref: string };
}

/** One change of one resource, sent alone or in a change set. */
export interface WireChange {
  readonly kind: KindName;
  readonly action: 'create' | 'update' | 'delete';
  /** Id of the resource that is updated or deleted. */
  readonly id: string | null;
  readonly ifMatch: number | null;
  /** Includes the fields that are part of the path when the change is sent alone. */
  readonly body: Record<string, unknown>;
}

export interface WireRequest {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Record<string, unknown>;
  readonly ifMatch?: number;
}

/** Returns the request of a change that is sent alone. */
export function singleRequest({ kind, action, id, ifMatch, body }: WireChange): WireRequest {
  const { create, item, pathFields } = kinds[kind];
  const sent = without(body, pathFields);
  if (action === 'create') return { ...create(body), body: sent };
  const path = item(id ?? '', body);
  const version = ifMatch === null ? {} : { ifMatch };
  if (action === 'update') return { method: 'PUT', path, body: sent, ...version };
  return { method: 'DELETE', path, ...version };
}

export interface ChangeContext {
  readonly owner: string;
  readonly source: SourceInfo;
  /** Takes an identity key; undefined when the resource does not exist yet. */
  readonly resolve: (key: string) => Target | Label | undefined;
}

/** @param credential the value of a key or account that was generated here */
export function createChange(
  desired: DesiredResource,
  context: ChangeContext,
  credential?: string,
): WireChange {
  const { kind } = desired.identity;
  const wire = toWire(desired.identity, desired.spec, context, desired);
  // On creation null means the same as an absent field.
  const set = Object.fromEntries(Object.entries(wire).filter(([, value]) => value !== null));
  const body = {
    ...set,
    managed_by: managedBy(desired, context, wantedGeneration(desired, 1), false),
    ...(credential === undefined ? {} : { [kinds[kind].credential!]: credential }),
  };
  return { kind, action: 'create', id: null, ifMatch: null, body };
}

/**
 * Sends each top-level field with a difference as a whole, because the API replaces whole fields.
 *
 * @param schema of the kind's create body
 */
export function updateChange(
  change: PlannedChange,
  context: ChangeContext,
  schema: z.ZodObject,
): WireChange {
  const desired = change.desired!;
  const live = change.live!;
  const kind = kinds[desired.identity.kind];
  const wire = toWire(desired.identity, desired.spec, context, desired);
  // A raised generation is recorded together with the value that it brings.
  const recorded = recordedGeneration(live);
  const wanted = wantedGeneration(desired, recorded);
  const generation = change.action === 'adopt' ? wanted : Math.min(wanted, recorded);
  const body: Record<string, unknown> = {};
  for (const field of fieldsToSend(kind, desired, change.fields)) {
    body[field] = kind.merged.includes(field)
      ? mergedField(wire[field], live.base?.[field])
      : (clearedAllowances(wire[field], live.spec[field]) ?? clearedValue(schema.shape[field]));
  }
  return {
    kind: desired.identity.kind,
    action: 'update',
    id: live.id,
    ifMatch: live.version,
    body: {
      ...body,
      ...pathOf(desired.identity, wire),
      managed_by: managedBy(desired, context, generation, change.action === 'adopt'),
    },
  };
}

export function deleteChange(live: LiveResource, context: ChangeContext): WireChange {
  const wire = toWire(live.identity, live.spec, context, null);
  const { id, identity, version: ifMatch } = live;
  return { kind: identity.kind, action: 'delete', id, ifMatch, body: pathOf(identity, wire) };
}

/** Returns the fields of a spec that are part of the path of an existing resource. */
function pathOf({ kind }: Identity, wire: Record<string, SpecJson>): Record<string, SpecJson> {
  const { isNamedByPathFields, pathFields } = kinds[kind];
  if (!isNamedByPathFields) return {};
  return Object.fromEntries(pathFields.map((field) => [field, wire[field]!]));
}

/** The new value of a key: the value, its generation, and whether it is still to be delivered. */
export interface NewValue {
  readonly key: string;
  readonly generation: number;
  readonly awaitsDelivery: boolean;
}

/** Idempotent, because the server recognises the value. */
export function rotateRequest(
  change: PlannedChange,
  context: ChangeContext,
  { key, generation, awaitsDelivery }: NewValue,
): WireRequest {
  const desired = change.desired!;
  const kind = kinds[desired.identity.kind];
  const wire = toWire(desired.identity, desired.spec, context, desired);
  const body = {
    [kind.credential!]: key,
    managed_by: managedBy(desired, context, generation, false),
  };
  return {
    method: 'POST',
    path: `${kind.item(change.live!.id, wire)}/rotate`,
    body: awaitsDelivery ? { ...body, await_delivery: true } : body,
  };
}

/** The ownership claim with the base for the next three-way comparison. */
function managedBy(
  desired: DesiredResource,
  context: ChangeContext,
  generation: number,
  takeOwnership: boolean,
): Record<string, unknown> {
  const { identity, position, spec } = desired;
  return {
    owner: context.owner,
    workspace: identity.workspace,
    name: identity.name,
    source: {
      repo: context.source.repo,
      revision: context.source.revision,
      file: position.file,
      line: position.line,
      ...(desired.protected ? { protected: true } : {}),
      ...(desired.onRemoval === 'retain' ? { on_removal: 'retain' } : {}),
      ...(desired.renamedBefore.length > 0 ? { renamed_before: desired.renamedBefore } : {}),
      ...(generation > 1 ? { rotation_generation: generation } : {}),
    },
    last_applied: spec,
    ...(takeOwnership ? { take_ownership: true } : {}),
  };
}

/** Replaces placeholders by ids, slugs and secret values; the mask keeps the value of the server. */
function toWire(
  identity: Identity,
  spec: Spec,
  context: ChangeContext,
  desired: DesiredResource | null,
): Record<string, SpecJson> {
  const { references } = kinds[identity.kind];
  return mapSpec(spec, (value, segments) => {
    if (isLiveSecret(value)) return secretMask;
    if (isSecret(value)) return desired?.secrets.get(pointerOf(segments))?.reveal() ?? null;
    if (!isReference(value)) return undefined;
    const target = context.resolve(value.$ref);
    if (target === undefined) throw new Error(`${value.$ref} does not exist`);
    const field = references.find(({ path }) => matchesPattern(path, segments));
    if (field?.by !== 'slug') return target.id;
    // The server adds the prefix to what a label resolves to.
    const named = target.slug ?? target.id;
    return typeof named === 'string' ? `${field.prefix ?? ''}${named}` : named;
  });
}

/** Clears keys that were applied before and are no longer desired, each by null. */
function mergedField(wanted: SpecJson | undefined, base: SpecJson | undefined): SpecJson {
  const cleared = isPlainObject(base) ? Object.keys(base).map((key) => [key, null]) : [];
  if (wanted === null) return null;
  return { ...Object.fromEntries(cleared), ...(isPlainObject(wanted) ? wanted : {}) };
}

/**
 * Clears allowances for outages in budgets that no longer declare one: the server keeps them otherwise, for tools that do
 * not know them. Nothing is added for a server without allowances.
 */
function clearedAllowances(wanted: SpecJson | undefined, live: unknown): SpecJson | undefined {
  if (wanted === undefined || !JSON.stringify(live ?? null).includes(allowanceKey)) return wanted;
  if (Array.isArray(wanted)) return wanted.map((item) => clearedAllowances(item, live)!);
  if (!isPlainObject(wanted)) return wanted;
  const fields = Object.entries(wanted).map(([key, value]) => [
    key,
    clearedAllowances(value as SpecJson, live),
  ]);
  const cleared: Record<string, SpecJson> =
    'credit_limit' in wanted ? { [allowanceKey]: null } : {};
  return { ...cleared, ...(Object.fromEntries(fields) as Record<string, SpecJson>) };
}

const allowanceKey = 'on_outage_allowance';

/** Null clears a field; where the schema does not allow null, the emptiest allowed value does. */
function clearedValue(
  schema: { safeParse(value: unknown): { success: boolean } } | undefined,
): SpecJson {
  const candidates: SpecJson[] = [null, {}, [], false, 0, ''];
  return candidates.find((value) => schema?.safeParse(value).success) ?? null;
}

function without(
  body: Record<string, unknown>,
  fields: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !fields.includes(key)));
}
