/** Validates the document of a gateway config: its keys, their types and bounds, and its guardrails. */
import type { TrustedHosts } from '../../trusted-hosts.ts';
import {
  type CheckValidators,
  checkFaults,
  unknownParameters,
} from '../guardrails/guardrail-checks.ts';
import {
  InlineHook,
  inlineActionFaults,
  inlineChecks,
  inlineFieldFaults,
  inlineWindowFaults,
} from '../guardrails/inline-guardrail.ts';
import { guardrailFields, hookFields } from '../manifests/kind-references.ts';
import { PatternChecker } from '../patterns/pattern-checker.ts';
import { headerListFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, faultsOfIssues, prefixFaults } from '../wire/fault.ts';
import { SelfCompilingSchema } from '../wire/self-compiling-schema.ts';
import { ineffectiveFields, unknownFieldFaults } from '../wire/unknown-fields.ts';
import { cacheFaults, cacheWarnings } from './cache-settings.ts';
import type { ConfigDocument } from './config.ts';
import { Level } from './config-level.ts';
import { type ConfigLevel, configLevels } from './config-levels.ts';
import { emptyGuardrailFaults } from './guardrail-references.ts';
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

/** Validates a config document; paths start at it. Stops at the limits. */
export function configFaults(
  document: ConfigDocument,
  limits: TargetLimits,
  trusted: TrustedHosts,
): Fault[] {
  const faults: Fault[] = [];
  const nestedCounts = new Map<number, number>();
  const judges = { trusted, patterns: new PatternChecker() };
  for (const visit of configLevels(document)) {
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
  }
  return faults;
}

function countFaults(
  visit: ConfigLevel,
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
  return [...strategyMemberFaults(level), ...conditionFaults(level, patterns)];
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
  const faults = [
    ...inlineFieldFaults(item),
    ...checks,
    ...inlineActionFaults(item),
    ...inlineWindowFaults(inlineChecks(item), item),
  ];
  return faults.length > 0 ? faults : emptyGuardrailFaults(item);
}

function hookFaults(hook: Record<string, unknown>, judges: CheckValidators): Fault[] {
  const unknown = unknownFieldFaults(InlineHook, hook);
  const parsed = InlineHook.safeParse(hook);
  const faults = [
    ...unknown,
    ...(parsed.success
      ? [
          ...prefixFaults(['checks'], checkFaults(parsed.data.checks ?? [], 'llm', judges)),
          ...inlineWindowFaults(parsed.data.checks ?? [], hook),
        ]
      : faultsOfIssues(parsed.error.issues)),
  ];
  return faults.length > 0 ? faults : emptyGuardrailFaults(hook);
}

/** Returns the fields of a document that are accepted without effect; paths start at it. */
export function configWarnings(document: ConfigDocument): Fault[] {
  const warnings: Fault[] = [];
  for (const visit of configLevels(document)) {
    warnings.push(...prefixFaults(visit.path, ineffectiveFields(Level, visit.level)));
    warnings.push(...prefixFaults([...visit.path, 'cache'], cacheWarnings(visit.level)));
  }
  return warnings;
}

/**
 * Returns the fields of a stored document that no schema defines; paths start at it. Values that have
 * another type than the schema requires are passed over.
 */
export function unknownConfigFields(document: unknown): Fault[] {
  const unknown: Fault[] = [];
  for (const visit of configLevels(document)) {
    const fields = [...unknownFieldFaults(Level, visit.level), ...unknownInlineFields(visit.level)];
    unknown.push(...prefixFaults(visit.path, fields));
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
