/** Knows the keys of a gateway config: their forms, their bounds, and the guardrails they name. */
import { z } from 'zod';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { ConfigDocument } from './config.ts';
import { described } from '../wire/described.ts';
import { below, type Fault, faultAt, faultsOfIssues } from '../wire/fault.ts';
import { headerListFaults, headerNamesMax } from '../services/forward-headers.ts';
import { checkFaults, type Judges } from '../guardrails/guardrail-checks.ts';
import { HotSchema } from '../wire/hot-schema.ts';
import { inlineChecks } from '../guardrails/inline-guardrail.ts';
import { guardrailSides } from '../manifests/kind-references.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { PatternJudge } from '../patterns/regex-rule.ts';

/** Null means the built-in limit. */
export interface TargetLimits {
  readonly rootMax: number | null;
  readonly conditionalRootMax: number | null;
  /** Targets below one target of the root, at any depth. */
  readonly nestedMax: number | null;
}

const builtInLimits = { rootMax: 100, conditionalRootMax: 1000, nestedMax: 50 };
/** More faults than this help nobody; the walk stops. */
const faultsMax = 50;
const conditionsMax = 1000;
const queryPartsMax = 1000;

const statusCodes = z.array(z.int().min(100).max(599)).max(500);
const record = z.record(z.string(), z.unknown());
const guardrailList = z.array(z.union([z.string().min(1).max(255), record])).max(100);
const hookList = z.array(record).max(100);

const Strategy = z.looseObject({
  mode: described(
    z.enum(['single', 'loadbalance', 'fallback', 'conditional']),
    'One target, a share each, the next on failure, or by conditions.',
  ),
  on_status_codes: described(
    statusCodes.optional(),
    'Answers of a provider that count as failures, by status.',
  ),
  conditions: described(
    z
      .array(z.looseObject({ query: record.meta({ description: 'What a request must be like.' }) }))
      .min(1)
      .max(conditionsMax)
      .optional(),
    'Each a query and, in then, the name of the target that it leads to.',
  ),
  default: described(z.string().min(1).optional(), 'Target where no condition holds.'),
});

/** One level: the root or a target. Keys beyond these pass through to the gateway. */
export const Level = z.looseObject({
  strategy: described(
    Strategy.optional(),
    'How a target is chosen; none where this level is a provider itself.',
  ),
  targets: described(
    z.array(record).optional(),
    'Levels to choose from, each a provider or a strategy of its own.',
  ),
  name: described(z.string().max(255).optional(), 'Name of the target, for conditions.'),
  weight: described(z.number().min(0).optional(), 'Share of requests under loadbalance.'),
  provider: described(z.string().min(1).max(255).optional(), 'Provider that answers.'),
  virtual_key: described(
    z.string().min(1).max(255).optional(),
    'Credential of the provider, by its slug.',
  ),
  custom_host: described(
    z.string().min(1).optional(),
    'Address to call instead of that of the provider.',
  ),
  passthrough: described(
    z.boolean().optional(),
    'Whether the request names the provider, in a header or before its model.',
  ),
  override_params: described(record.optional(), 'Parameters that replace those of a request.'),
  default_params: described(
    record.optional(),
    'Parameters of requests that have none of the name.',
  ),
  drop_params: described(
    z.array(z.string().min(1)).max(100).optional(),
    'Parameters that are taken from requests.',
  ),
  retry: described(
    z
      .looseObject({
        attempts: described(
          z.int().min(0).max(5).optional(),
          'How often a failed request is sent again.',
        ),
        on_status_codes: described(
          statusCodes.optional(),
          'Answers of a provider that count as failures, by status.',
        ),
      })
      .optional(),
    'How often a failed request is sent again, and which failures count.',
  ),
  cache: described(
    z
      .looseObject({
        mode: described(
          z.enum(['simple', 'semantic']),
          'Whether requests must be the same, or mean the same.',
        ),
        max_age: described(
          z.int().min(0).max(7_776_000).optional(),
          'How long an answer is kept, in seconds.',
        ),
      })
      .optional(),
    'Whether answers are kept, and for how long.',
  ),
  on_status_codes: described(
    statusCodes.optional(),
    'Answers of a provider that count as failures, by status.',
  ),
  request_timeout: described(
    z.int().min(1).optional(),
    'Time that a request may take, in milliseconds.',
  ),
  forward_headers: described(
    z.array(z.string()).max(headerNamesMax).optional(),
    'Headers of the caller that the provider gets.',
  ),
  strict_open_ai_compliance: described(
    z.boolean().optional(),
    'Whether answers hold nothing but what OpenAI has.',
  ),
  input_guardrails: described(
    guardrailList.optional(),
    'Guardrails on requests: guardrailRef, a slug, or a check written out.',
  ),
  output_guardrails: described(
    guardrailList.optional(),
    'Guardrails on answers: guardrailRef, a slug, or a check written out.',
  ),
  before_request_hooks: described(hookList.optional(), 'Checks before the request.'),
  after_request_hooks: described(hookList.optional(), 'Checks after the request.'),
});
type Level = z.infer<typeof Level>;
const hotLevel = new HotSchema(Level);

interface Visit {
  readonly level: unknown;
  readonly path: readonly (string | number)[];
  /** Index of the root's target this level lies in or below; null for the root itself. */
  readonly rootTarget: number | null;
}

/**
 * Judges a config document. Paths start at the document. Walks with a list of its own instead of
 * recursion, and stops at the limits, so that no nesting can exhaust the process.
 */
export function configFaults(
  document: ConfigDocument,
  limits: TargetLimits,
  trusted: TrustedHosts,
): Fault[] {
  const faults: Fault[] = [];
  const nestedCounts = new Map<number, number>();
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  const judges = { trusted, patterns: new PatternJudge() };
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    // Counted before anything in them is looked at.
    const tooMany = countFaults(visit, limits, nestedCounts);
    if (tooMany.length > 0) return [...faults, ...tooMany];
    const parsed = hotLevel.safeParse(visit.level);
    const found = parsed.success
      ? levelFaults(parsed.data, judges)
      : faultsOfIssues(parsed.error.issues);
    faults.push(...below(visit.path, found.slice(0, faultsMax)));
    if (faults.length >= faultsMax) break;
    pending.push(...targetsOf(visit).reverse());
  }
  return faults;
}

/** A guardrail named in a document, by slug or id, and where. */
export interface GuardrailReference {
  readonly path: readonly (string | number)[];
  readonly guardrail: string;
}

/** Every guardrail that a judged document names at any level. */
export function guardrailReferences(document: ConfigDocument): GuardrailReference[] {
  const found: GuardrailReference[] = [];
  const pending: Visit[] = [{ level: document, path: [], rootTarget: null }];
  for (let visit = pending.pop(); visit !== undefined; visit = pending.pop()) {
    for (const field of guardrailSides) {
      const list = (visit.level as Record<string, unknown>)[field];
      if (!Array.isArray(list)) continue;
      list.forEach((item: unknown, at) => {
        if (typeof item !== 'string') return;
        found.push({ path: [...visit.path, field, at], guardrail: item });
      });
    }
    pending.push(...targetsOf(visit).reverse());
  }
  return found;
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

/** What the schema of a level cannot say. */
function levelFaults(level: Level, judges: Judges): Fault[] {
  const host = level.custom_host;
  const hostFault = host === undefined ? null : outboundUrlFault(host, judges.trusted);
  return [
    ...faultAt('custom_host', hostFault),
    ...below(['forward_headers'], headerListFaults(level.forward_headers ?? [], 'provider')),
    ...below(['strategy'], strategyFaults(level, judges.patterns)),
    ...inlineGuardrailFaults(level, judges),
  ];
}

function strategyFaults({ strategy, targets = [] }: Level, patterns: PatternJudge): Fault[] {
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
    faults.push({ path: ['default'], message: 'names no target' });
  }
  conditions.forEach(({ query, then: name }, at) => {
    const path = ['conditions', at];
    if (typeof name !== 'string' || !names.has(name)) {
      faults.push({ path: [...path, 'then'], message: 'names no target' });
    }
    faults.push(...below([...path, 'query'], queryFaults(query, patterns)));
  });
  return faults;
}

const operators = new Set(
  ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'regex', 'and', 'or'].map((op) => `$${op}`),
);

/** Operators must be known ones, and patterns must be such as the gateway can run. */
function queryFaults(query: Record<string, unknown>, patterns: PatternJudge): Fault[] {
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
        const below = [...path, key];
        if (key.startsWith('$') && !operators.has(key)) {
          faults.push({ path: below, message: 'is not a known operator' });
        } else if (key === '$regex') {
          const fault = typeof item === 'string' ? patterns.regexFault(item) : 'must be a string';
          if (fault !== null) faults.push({ path: below, message: fault });
        } else pending.push({ value: item, path: below });
      }
    }
  }
  return faults;
}

/** Checks written into the config itself obey the rules of those in guardrails. */
function inlineGuardrailFaults(level: Level, judges: Judges): Fault[] {
  const inline = guardrailSides.flatMap((field) =>
    (level[field] ?? []).flatMap((item, at) =>
      typeof item === 'string' ? [] : below([field, at], shorthandFaults(item, judges)),
    ),
  );
  const hooks = hookFields.flatMap((field) =>
    (level[field] ?? []).flatMap((hook, at) =>
      below([field, at, 'checks'], hookFaults(hook, judges)),
    ),
  );
  return [...inline, ...hooks];
}

function shorthandFaults(item: Record<string, unknown>, judges: Judges): Fault[] {
  return inlineChecks(item).flatMap(({ key, id, parameters }) => {
    const faults = checkFaults([{ id, parameters }], 'llm', judges);
    // Without the index and the word `parameters`, which the shorthand does not have.
    return faults.map(({ path, message }) => ({ path: [key, ...path.slice(2)], message }));
  });
}

const HookChecks = z.array(z.looseObject({ id: z.string(), parameters: record.optional() }));

function hookFaults(hook: Record<string, unknown>, judges: Judges): Fault[] {
  const checks = HookChecks.safeParse(hook.checks ?? []);
  return checks.success
    ? checkFaults(checks.data, 'llm', judges)
    : faultsOfIssues(checks.error.issues);
}
