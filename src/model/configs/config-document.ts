/** Validates the document of a gateway config: its keys, their types and bounds, and its guardrails. */

import { z } from 'zod';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { type CheckValidators, checkFaults } from '../guardrails/guardrail-checks.ts';
import { inlineChecks } from '../guardrails/inline-guardrail.ts';
import { guardrailFields } from '../manifests/kind-references.ts';
import { PatternChecker } from '../patterns/pattern-checker.ts';
import { headerListFaults, headerNamesMax } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { providerNameForm, providerNamePattern } from '../services/provider-addresses.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt, faultsOfIssues, prefixFaults } from '../wire/fault.ts';
import { SelfCompilingSchema } from '../wire/self-compiling-schema.ts';
import type { ConfigDocument } from './config.ts';

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
const conditionsMax = 1000;
const queryPartsMax = 1000;

const statusCodes = z.array(z.int().min(100).max(599)).max(500);
/** Also the text of a response header. */
const ProviderName = z.string().regex(providerNamePattern, `must have ${providerNameForm}`);
const record = z.record(z.string(), z.unknown());
const guardrailList = z.array(z.union([z.string().min(1).max(255), record])).max(100);
const hookList = z.array(record).max(100);

const Strategy = z.looseObject({
  mode: described(
    z.enum(['single', 'loadbalance', 'fallback', 'conditional']),
    'Selection of a target: a single one, by weight, the next on failure, or by conditions.',
  ),
  on_status_codes: described(
    statusCodes.optional(),
    'Response statuses of a provider that count as failures.',
  ),
  conditions: described(
    z
      .array(
        z.looseObject({ query: record.meta({ description: 'Query that a request must match.' }) }),
      )
      .min(1)
      .max(conditionsMax)
      .optional(),
    'Conditions, each with a query and, in then, the name of the target.',
  ),
  default: described(z.string().min(1).optional(), 'Target if no condition matches.'),
});

/** One level: the root or a target. Unknown keys are passed through to the gateway. */
export const Level = z.looseObject({
  strategy: described(
    Strategy.optional(),
    'How a target is selected; absent if this level is a provider itself.',
  ),
  targets: described(
    z.array(record).optional(),
    'Levels to select from, each a provider or a strategy of its own.',
  ),
  name: described(z.string().max(255).optional(), 'Name of the target, for conditions.'),
  weight: described(z.number().min(0).optional(), 'Share of requests under loadbalance.'),
  provider: described(ProviderName.optional(), 'Provider of the target.'),
  virtual_key: described(ProviderName.optional(), 'Credential of the provider, by its slug.'),
  custom_host: described(
    z.string().min(1).optional(),
    'Base URL to call instead of that of the provider.',
  ),
  passthrough: described(
    z.boolean().optional(),
    'Whether the request selects the provider, by a header or a prefix of its model.',
  ),
  override_params: described(record.optional(), 'Parameters that replace those of the request.'),
  default_params: described(
    record.optional(),
    'Parameters that are added if the request lacks them.',
  ),
  drop_params: described(
    z.array(z.string().min(1)).max(100).optional(),
    'Parameters that are removed from requests.',
  ),
  retry: described(
    z
      .looseObject({
        attempts: described(
          z.int().min(0).max(5).optional(),
          'Maximum number of retries of a failed request.',
        ),
        on_status_codes: described(
          statusCodes.optional(),
          'Response statuses of a provider that count as failures.',
        ),
      })
      .optional(),
    'Retries of failed requests, and which failures count.',
  ),
  cache: described(
    z
      .looseObject({
        mode: described(
          z.enum(['simple', 'semantic']),
          'Whether cached requests must be identical (simple) or have the same meaning (semantic).',
        ),
        max_age: described(
          z.int().min(0).max(7_776_000).optional(),
          'How long a response is cached, in seconds.',
        ),
      })
      .optional(),
    'Whether responses are cached, and for how long.',
  ),
  on_status_codes: described(
    statusCodes.optional(),
    'Response statuses of a provider that count as failures.',
  ),
  request_timeout: described(z.int().min(1).optional(), 'Timeout of a request in milliseconds.'),
  forward_headers: described(
    z.array(z.string()).max(headerNamesMax).optional(),
    'Headers of the caller that are forwarded to the provider.',
  ),
  strict_open_ai_compliance: described(
    z.boolean().optional(),
    'Whether responses contain only fields of the OpenAI API.',
  ),
  input_guardrails: described(
    guardrailList.optional(),
    'Guardrails on requests: guardrailRef, a slug, or an inline check.',
  ),
  output_guardrails: described(
    guardrailList.optional(),
    'Guardrails on responses: guardrailRef, a slug, or an inline check.',
  ),
  before_request_hooks: described(hookList.optional(), 'Checks before the request.'),
  after_request_hooks: described(hookList.optional(), 'Checks after the request.'),
});
type Level = z.infer<typeof Level>;
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
    const levelProblems = parsed.success
      ? levelFaults(parsed.data, judges)
      : faultsOfIssues(parsed.error.issues);
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
    ...inlineGuardrailFaults(level, judges),
  ];
}

function strategyFaults({ strategy, targets = [] }: Level, patterns: PatternChecker): Fault[] {
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

const operators = new Set(
  ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'regex', 'and', 'or'].map((op) => `$${op}`),
);

/** Operators must be known, and patterns must be supported by the gateway. */
function queryFaults(query: Record<string, unknown>, patterns: PatternChecker): Fault[] {
  const faults: Fault[] = [];
  const pending: { value: unknown; path: (string | number)[] }[] = [{ value: query, path: [] }];
  let parts = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    parts += 1;
    if (parts > queryPartsMax) return [{ path: [], message: 'is too large' }];
    const { value, path } = part;
    if (Array.isArray(value)) {
      value.forEach((item: unknown, at) => {
        pending.push({ value: item, path: [...path, at] });
      });
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        const itemPath = [...path, key];
        if (key.startsWith('$') && !operators.has(key)) {
          faults.push({ path: itemPath, message: 'is not a known operator' });
        } else if (key === '$regex') {
          const fault = typeof item === 'string' ? patterns.regexFault(item) : 'must be a string';
          if (fault !== null) faults.push({ path: itemPath, message: fault });
        } else pending.push({ value: item, path: itemPath });
      }
    }
  }
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
    (level[field] ?? []).flatMap((hook, at) =>
      prefixFaults([field, at, 'checks'], hookFaults(hook, judges)),
    ),
  );
  return [...inline, ...hooks];
}

function shorthandFaults(item: Record<string, unknown>, judges: CheckValidators): Fault[] {
  return inlineChecks(item).flatMap(({ key, id, parameters }) => {
    const faults = checkFaults([{ id, parameters }], 'llm', judges);
    // Drops the index and `parameters` from the path, which the inline form does not have.
    return faults.map(({ path, message }) => ({ path: [key, ...path.slice(2)], message }));
  });
}

const HookChecks = z.array(z.looseObject({ id: z.string(), parameters: record.optional() }));

function hookFaults(hook: Record<string, unknown>, judges: CheckValidators): Fault[] {
  const checks = HookChecks.safeParse(hook.checks ?? []);
  return checks.success
    ? checkFaults(checks.data, 'llm', judges)
    : faultsOfIssues(checks.error.issues);
}
