/** Validates the document of a gateway config: its keys, their types and bounds, and its guardrails. */
import type { TrustedHosts } from '../../trusted-hosts.ts';
import {
  type CheckValidators,
  checkFaults,
  unknownParameters,
} from '../guardrails/guardrail-checks.ts';
import { InlineHook, inlineChecks, inlineFieldFaults } from '../guardrails/inline-guardrail.ts';
import { guardrailFields } from '../manifests/kind-references.ts';
import { PatternChecker } from '../patterns/pattern-checker.ts';
import { headerListFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, faultsOfIssues, prefixFaults } from '../wire/fault.ts';
import { SelfCompilingSchema } from '../wire/self-compiling-schema.ts';
import { ineffectiveFields, unknownFieldFaults } from '../wire/unknown-fields.ts';
import { cacheFaults, cacheWarnings } from './cache-settings.ts';
import type { ConfigDocument } from './config.ts';
import { Level } from './config-level.ts';
import { queryFaults } from './query-faults.ts';
import { strategyMemberFaults } from './strategy-members.ts';

/** Maximum numbers of targets; null means the built-in limit. */
export interface TargetLimits {
  readonly rootMax: number | null;
  readonly conditionalRootMax: number | null;
  /** Targets below one target of the root, at any depth. */
  readonly nestedMax: number | null;
}

const builtInLimits = { rootMax: 100, conditionalRootMax: 1000, nestedMax: 50 };
/** The validation stops after this many faults. */
const faultsMax = 50;

const hotLevel = new SelfCompilingSchema(Level);

interface Visit {
  readonly level: unknown;
  readonly path: readonly (string | number)[];
  /** Index of the root target that contains this level; null for the root itself. */
  readonly rootTarget: number | null;
}

/**
 * Validates a config document; paths start at it. The walk is iterative and stops at the limits, so no
 * nesting can exhaust the process.
 */
export function configFaults(
  document: ConfigDocument,
  limits: TargetLimits,
  trusted: TrustedHosts,
): Fault[] {
  const faults: Fault[] = [];
  const nestedCounts = new Map<number, number>();
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  const judges = { trusted, patterns: new PatternChecker() };
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    // Counts the targets before it looks into them.
    const tooMany = countFaults(visit, limits, nestedCounts);
    if (tooMany.length > 0) return [...faults, ...tooMany];
    const parsed = hotLevel.safeParse(visit.level);
    const levelProblems = [
      ...unknownFieldFaults(Level, visit.level),
      ...(parsed.success ? levelFaults(parsed.data, judges) : faultsOfIssues(parsed.error.issues)),
    ];
    faults.push(...prefixFaults(visit.path, levelProblems.slice(0, faultsMax)));
    if (faults.length >= faultsMax) break;
    pending.push(...targetsOf(visit).reverse());
  }
  return faults;
}

/** A guardrail that a document refers to by slug or id, and the path of the reference. */
export interface GuardrailReference {
  readonly path: readonly (string | number)[];
  readonly guardrail: string;
}

/** Returns every guardrail reference in a validated document, at all levels. */
export function guardrailReferences(document: ConfigDocument): GuardrailReference[] {
  const references: GuardrailReference[] = [];
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    for (const field of guardrailFields) {
      const list = (visit.level as Record<string, unknown>)[field];
      if (!Array.isArray(list)) continue;
      list.forEach((item: unknown, at) => {
        if (typeof item !== 'string') return;
        references.push({ path: [...visit.path, field, at], guardrail: item });
      });
    }
    pending.push(...targetsOf(visit).reverse());
  }
  return references;
}

const hookFields = ['before_request_hooks', 'after_request_hooks'] as const;

function targetsOf({ level, path, rootTarget }: Visit): Visit[] {
  if (typeof level !== 'object' || level === null) return [];
  const { targets } = level as Record<string, unknown>;
  if (!Array.isArray(targets)) return [];
  return targets.map((target: unknown, at) => ({
    level: target,
    path: [...path, 'targets', at],
    rootTarget: rootTarget ?? at,
  }));
}

function countFaults(
  visit: Visit,
  limits: TargetLimits,
  nestedCounts: Map<number, number>,
): Fault[] {
  const { targets, strategy } = (visit.level ?? {}) as Partial<Record<string, unknown>>;
  if (!Array.isArray(targets)) return [];
  const path = [...visit.path, 'targets'];
  if (visit.rootTarget === null) {
    const { mode } = (strategy ?? {}) as { mode?: unknown };
    const limit = mode === 'conditional' ? 'conditionalRootMax' : 'rootMax';
    const max = limits[limit] ?? builtInLimits[limit];
    if (targets.length <= max) return [];
    return [{ path, message: `has ${targets.length} targets; at most ${max} are allowed` }];
  }
  const count = (nestedCounts.get(visit.rootTarget) ?? 0) + targets.length;
  nestedCounts.set(visit.rootTarget, count);
  const max = limits.nestedMax ?? builtInLimits.nestedMax;
  if (count <= max) return [];
  const message = `has more than ${max} targets below targets[${visit.rootTarget}]`;
  return [{ path, message }];
}

/** Rules of a level that its schema cannot express. */
function levelFaults(level: Level, judges: CheckValidators): Fault[] {
  const host = level.custom_host;
  const hostFault = host === undefined ? null : outboundUrlFault(host, judges.trusted);
  return [
    ...faultAt('custom_host', hostFault),
    ...prefixFaults(['forward_headers'], headerListFaults(level.forward_headers ?? [], 'provider')),
    ...prefixFaults(['strategy'], strategyFaults(level, judges.patterns)),
    ...prefixFaults(['cache'], cacheFaults(level.cache)),
    ...inlineGuardrailFaults(level, judges),
  ];
}

function strategyFaults(level: Level, patterns: PatternChecker): Fault[] {
  return [...strategyMemberFaults(level.strategy), ...conditionFaults(level, patterns)];
}

function conditionFaults({ strategy, targets = [] }: Level, patterns: PatternChecker): Fault[] {
  if (strategy?.mode !== 'conditional') return [];
  const faults: Fault[] = [];
  const names = new Set(targets.map((target) => target.name));
  const { conditions = [] } = strategy;
  if (strategy.conditions === undefined) {
    faults.push({ path: ['conditions'], message: 'is required when mode is conditional' });
  }
  if (strategy.default === undefined) {
    faults.push({ path: ['default'], message: 'is required when mode is conditional' });
  } else if (!names.has(strategy.default)) {
    faults.push({ path: ['default'], message: 'is not the name of a target' });
  }
  conditions.forEach(({ query, then: name }, at) => {
    const path = ['conditions', at];
    if (typeof name !== 'string' || !names.has(name)) {
      faults.push({ path: [...path, 'then'], message: 'is not the name of a target' });
    }
    faults.push(...prefixFaults([...path, 'query'], queryFaults(query, patterns)));
  });
  return faults;
}

/** Inline checks follow the same rules as checks of guardrails. */
function inlineGuardrailFaults(level: Level, judges: CheckValidators): Fault[] {
  const inline = guardrailFields.flatMap((field) =>
    (level[field] ?? []).flatMap((item, at) =>
      typeof item === 'string' ? [] : prefixFaults([field, at], shorthandFaults(item, judges)),
    ),
  );
  const hooks = hookFields.flatMap((field) =>
    (level[field] ?? []).flatMap((hook, at) => prefixFaults([field, at], hookFaults(hook, judges))),
  );
  return [...inline, ...hooks];
}

function shorthandFaults(item: Record<string, unknown>, judges: CheckValidators): Fault[] {
  if (Array.isArray(item.checks)) return hookFaults(item, judges);
  const checks = inlineChecks(item).flatMap(({ key, id, parameters }) => {
    const faults = checkFaults([{ id, parameters }], 'llm', judges);
    // Drops the index and `parameters` from the path, which the inline form does not have.
    return faults.map(({ path, message }) => ({ path: [key, ...path.slice(2)], message }));
  });
  return [...inlineFieldFaults(item), ...checks];
}

function hookFaults(hook: Record<string, unknown>, judges: CheckValidators): Fault[] {
  const unknown = unknownFieldFaults(InlineHook, hook);
  const parsed = InlineHook.safeParse(hook);
  return [
    ...unknown,
    ...(parsed.success
      ? prefixFaults(['checks'], checkFaults(parsed.data.checks ?? [], 'llm', judges))
      : faultsOfIssues(parsed.error.issues)),
  ];
}

/** Returns the fields of a document that are accepted without effect; paths start at it. */
export function configWarnings(document: ConfigDocument): Fault[] {
  const warnings: Fault[] = [];
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    warnings.push(...prefixFaults(visit.path, ineffectiveFields(Level, visit.level)));
    warnings.push(...prefixFaults([...visit.path, 'cache'], cacheWarnings(visit.level)));
    pending.push(...targetsOf(visit).reverse());
  }
  return warnings;
}

/**
 * Returns the fields of a stored document that no schema defines; paths start at it. Values that have
 * another type than the schema requires are passed over.
 */
export function unknownConfigFields(document: unknown): Fault[] {
  const unknown: Fault[] = [];
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    const fields = [...unknownFieldFaults(Level, visit.level), ...unknownInlineFields(visit.level)];
    unknown.push(...prefixFaults(visit.path, fields));
    pending.push(...targetsOf(visit).reverse());
  }
  return unknown;
}

function unknownInlineFields(level: unknown): Fault[] {
  return [...guardrailFields, ...hookFields].flatMap((field) => {
    const list = (level as Record<string, unknown> | null)?.[field];
    if (!Array.isArray(list)) return [];
    return list.flatMap((item: unknown, at) => {
      if (typeof item !== 'object' || item === null) return [];
      const guardrail = item as Record<string, unknown>;
      const listsChecks = Array.isArray(guardrail.checks) || field.endsWith('_hooks');
      return prefixFaults(
        [field, at],
        listsChecks ? unknownHookFields(guardrail) : unknownShorthandFields(guardrail),
      );
    });
  });
}

function unknownHookFields(hook: Record<string, unknown>): Fault[] {
  const checks = prefixFaults(['checks'], unknownParameters(hook.checks));
  return [...unknownFieldFaults(InlineHook, hook), ...checks];
}

function unknownShorthandFields(item: Record<string, unknown>): Fault[] {
  const parameters = inlineChecks(item).flatMap(({ key, id, parameters }) =>
    // Drops the index and `parameters` from the path, which the inline form does not have.
    unknownParameters([{ id, parameters }]).map(({ path, message }) => ({
      path: [key, ...path.slice(2)],
      message,
    })),
  );
  return [...inlineFieldFaults(item), ...parameters];
}
