/** Builds the published JSON documents of a plan and of an apply. */
import type { Ending } from '../../failure.ts';
import type { KeyDelivery } from '../apply/key-survey.ts';
import { defaultText, endsWithReplace } from '../diff/consequences.ts';
import type { Impact, Impacts } from '../plan/impact.ts';
import type { FieldChange, Plan, PlannedChange } from '../plan/plan-model.ts';
import type { Position, SpecJson } from '../resources/resource-set.ts';
import { isSecret, mapSpec, pointerOf, segmentsOf } from '../resources/spec-paths.ts';
import type { Baseline } from './baseline.ts';
import { impactDocument } from './impact-text.ts';
import { counted, type ReportableCycle, symbols } from './summary.ts';
import { yamlPath } from './yaml-path.ts';

/** A cycle result with the parts that only programs receive. */
export interface CycleOutcome extends ReportableCycle {
  readonly deliveries: readonly KeyDelivery[];
  readonly ending: Ending;
}

/**
 * Builds the plan document (docs/explanation/sync.md, Plan); values are complete, secrets are left
 * out.
 */
export function planDocument(
  plan: Plan,
  warnings: readonly string[],
  impacts: Impacts = new Map(),
): Record<string, unknown> {
  return {
    formatVersion: 1,
    engine: 'gatewright',
    owner: plan.owner,
    source: {
      repo: plan.source.repo,
      sha: plan.source.revision,
      digest: plan.source.digest,
      environment: plan.source.environment ?? null,
    },
    base: { snapshotEtag: plan.etag },
    summary: {
      ...Object.fromEntries(Object.keys(symbols).map((action) => [action, 0])),
      ...Object.fromEntries(counted(plan.changes.map(({ action }) => action))),
      noop: plan.unchanged,
      blocked: plan.blocked.length,
      loosens: plan.changes.filter(({ loosens }) => loosens).length,
    },
    changes: plan.changes.map((change) => changeDocument(change, impacts.get(change.id))),
    blocked: plan.blocked.map(({ id, identity, reason, message, position }) => ({
      id,
      ...identity,
      reason,
      message,
      position,
    })),
    faults: plan.faults.map(({ fault, workspaces, mayHide }) => ({
      ...fault.position,
      code: fault.code,
      message: fault.message,
      fix: fault.fix ?? null,
      workspaces,
      mayHide,
    })),
    ignored: plan.ignored.map(({ identity, path, differs }) => ({
      ...identity,
      path: pointerOf(path),
      yamlPath: yamlPath(identity.kind, {}, path),
      differs,
    })),
    unmanaged: plan.unmanaged,
    unknown: plan.unknown,
    leftAlone: plan.leftAlone,
    definitions: [...plan.live.values()].flatMap(({ identity, definitions = [] }) =>
      definitions.map((finding) => ({ ...identity, definition: finding })),
    ),
    warnings,
  };
}

function changeDocument(
  change: PlannedChange,
  impact: Impact | undefined,
): Record<string, unknown> {
  const { action, identity, live } = change;
  return {
    id: change.id,
    action,
    kind: identity.kind,
    workspace: identity.workspace,
    name: identity.name,
    resourceId: live?.id ?? null,
    ifMatch: live?.version ?? null,
    dependsOn: change.dependsOn,
    reason: change.reason,
    loosens: change.loosens,
    ends: action === 'replace' ? endsWithReplace(identity.kind) : [],
    ...(change.rotation === null ? {} : { rotation: change.rotation }),
    fields: change.fields.map((field) => fieldDocument(change, field)),
    position: change.position,
    impact: impactDocument(impact),
  };
}

function fieldDocument(
  { identity, live, desired }: PlannedChange,
  field: FieldChange,
): Record<string, unknown> {
  const segments = segmentsOf(field.path);
  const isGone = field.difference === 'removed' && field.to === null;
  const root = (isGone ? live?.spec : desired?.spec) ?? {};
  const isReset = field.difference === 'removed' && !segments.some((key) => /^\d+$/.test(key));
  return {
    path: field.path,
    yamlPath: yamlPath(identity.kind, root, segments),
    livePath: field.livePath,
    difference: field.difference,
    from: withoutSecrets(field.from),
    to: withoutSecrets(field.to),
    ...(isReset ? { goesBackTo: defaultText(identity.kind, segments) } : {}),
    secret: field.secret,
    reason: field.reason,
    loosens: field.loosens,
    ...origin(desired, field),
  };
}

/** Returns where a value comes from that is not the manifest's own. */
function origin(
  desired: PlannedChange['desired'],
  { difference, path }: FieldChange,
): { readonly position?: Position } {
  if (desired?.isComposed !== true || difference === 'removed') return {};
  const position = desired.positionOf(path);
  return position.related === undefined ? {} : { position };
}

/** Replaces a secret by `(secret env:NAME)`, so that equal secrets cannot be recognised. */
function withoutSecrets(value: SpecJson): SpecJson {
  return mapSpec({ value }, (inner) => (isSecret(inner) ? `(secret ${inner.$secret})` : undefined))
    .value!;
}

function baselineDocument(baseline: Baseline | undefined): Record<string, unknown> | null {
  if (baseline === undefined) return null;
  const { ref, commit, already, undone, blockedAlready } = baseline;
  const whole = (change: PlannedChange): unknown => changeDocument(change, undefined);
  return {
    ref,
    commit,
    blocked: blockedAlready,
    changes: already.map(whole),
    undone: undone.map(whole),
  };
}

/** Builds the result document of an apply, for `--report` and `-o json`. */
export function resultDocument(outcome: CycleOutcome): Record<string, unknown> {
  const { report, refusal } = outcome;
  return {
    ...planDocument(outcome.plan, outcome.warnings, outcome.impacts),
    baseline: baselineDocument(outcome.baseline),
    refusal: refusal?.message ?? null,
    deliveries: outcome.deliveries,
    result:
      report === null
        ? null
        : {
            items: report.items,
            interrupted: report.interrupted,
            unreachable: report.unreachable,
          },
    exitCode: outcome.ending,
  };
}
