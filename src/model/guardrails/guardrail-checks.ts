/** Validates the checks of a guardrail beyond their schema. */
import type { z } from 'zod';
import { didYouMean } from '../../suggest.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { jsonSchemaFaults } from '../patterns/json-schema-patterns.ts';
import { PatternChecker } from '../patterns/pattern-checker.ts';
import { headerListFaults, headerMapFaults } from '../services/forward-headers.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { type Fault, faultAt, faultsOfIssues, prefixFaults } from '../wire/fault.ts';
import { SelfCompilingSchema } from '../wire/self-compiling-schema.ts';
import { ineffectiveFields, unknownFieldFaults } from '../wire/unknown-fields.ts';
import { callCheckFaults } from './call-check-kinds.ts';
import type { CheckKind } from './check-kind.ts';
import { GuardrailActions, type GuardrailTarget } from './guardrail.ts';
import { checkKinds } from './guardrail-check-kinds.ts';
import { refusedChecks } from './partner-checks.ts';
import { windowFaults } from './stream-windows.ts';
import { tokenValidationFaults } from './token-validation.ts';

/** By id in lower case, because clients use two spellings of some ids. */
const kinds = new Map(Object.entries(checkKinds).map(([id, kind]) => [id.toLowerCase(), kind]));

/** Reasons by id in lower case. */
const refusals = new Map(
  Object.entries(refusedChecks).map(([id, reason]) => [id.toLowerCase(), reason]),
);

const knownIds: readonly string[] = Object.keys(checkKinds);
const knownIdsByLowerCase = new Map(knownIds.map((id) => [id.toLowerCase(), id]));

/** The id of a check in the spelling of the catalogue; undefined for an unknown check. */
export function knownCheckId(id: string): string | undefined {
  return knownIdsByLowerCase.get(id.toLowerCase());
}

interface Check {
  readonly id: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Rules of a guardrail that its schema cannot express, for the server and for manifests. A guardrail for
 * models must have checks and `actions`. The value `'stored'` means that an update leaves the field
 * unchanged.
 */
export function guardrailFaults(
  { checks = [], actions }: { checks?: readonly Check[] | 'stored' | undefined; actions?: unknown },
  target: GuardrailTarget,
  trusted: TrustedHosts,
): Fault[] {
  const required = (isMissing: boolean): string | null =>
    target === 'llm' && isMissing ? 'is required for target llm' : null;
  const sent = checks === 'stored' ? [] : checks;
  return [
    ...faultAt('checks', required(checks.length === 0)),
    ...faultAt('actions', required(actions === undefined)),
    ...prefixFaults(
      ['actions'],
      actions === 'stored' ? [] : unknownFieldFaults(GuardrailActions, actions),
    ),
    ...(actions === 'stored' || checks === 'stored' ? [] : streamFaults(sent, actions)),
    ...prefixFaults(
      ['checks'],
      checkFaults(sent, target, { trusted, patterns: new PatternChecker() }),
    ),
  ];
}

/** Faults of windows, for checks that are valid otherwise. */
function streamFaults(checks: readonly Check[], actions: unknown): Fault[] {
  return windowFaults(checks, (actions as { readonly stream?: unknown } | undefined)?.stream);
}

/** Validators for the parameters of checks; shared by all checks of one document. */
export interface CheckValidators {
  readonly trusted: TrustedHosts;
  readonly patterns: PatternChecker;
}

/**
 * Validates checks beyond their schema: required parameters of known checks; patterns, URLs and headers
 * in them; and whether the target allows them. An unknown id is a fault, because the check would judge
 * nothing. Paths start at the list.
 */
export function checkFaults(
  checks: readonly Check[],
  target: GuardrailTarget,
  judges: CheckValidators,
): Fault[] {
  return checks.flatMap((check, at) => {
    const id = check.id.toLowerCase();
    const kind = kinds.get(id);
    const faults: Fault[] =
      kind === undefined ? [{ path: ['id'], message: unknownCheckMessage(check.id) }] : [];
    if (target === 'mcp_tools' && kind?.tools === false) {
      const message = 'is not a deterministic check, so it cannot guard MCP tools';
      faults.push({ path: ['id'], message });
    }
    if (kind !== undefined && check.parameters !== undefined) {
      const parameters = parameterFaults(id, kind, check.parameters, judges);
      faults.push(...prefixFaults(['parameters'], parameters));
    }
    return prefixFaults([at], faults);
  });
}

function unknownCheckMessage(id: string): string {
  const refusal = refusals.get(id.toLowerCase());
  if (refusal !== undefined) {
    return `${refusal}, so this gateway cannot run it; use default.webhook with a service of your own`;
  }
  const withPrefix = knownIds.find(
    (known) => known.toLowerCase() === `default.${id.toLowerCase()}`,
  );
  const near =
    withPrefix === undefined ? didYouMean(id, knownIds) : `did you mean "${withPrefix}"?`;
  const hint = near ?? 'see the list in docs/reference/resources.md, Checks';
  return `is not a known check: ${hint}`;
}

/** Returns the fields of a guardrail that are accepted without effect; paths start at the body. */
export function guardrailWarnings({
  checks = [],
  actions,
}: {
  readonly checks?: readonly Check[] | undefined;
  readonly actions?: unknown;
}): Fault[] {
  const parameters = checks.flatMap(({ id, parameters }, at) => {
    const kind = kinds.get(id.toLowerCase());
    if (kind === undefined) return [];
    const fields = ineffectiveFields(kind.parameters, parameters);
    const warnings = kind.warnings?.(parameters ?? {}) ?? [];
    return prefixFaults(['checks', at, 'parameters'], [...fields, ...warnings]);
  });
  return [
    ...prefixFaults(['actions'], ineffectiveFields(GuardrailActions, actions)),
    ...parameters,
  ];
}

/** Returns the fields of a stored guardrail that no schema defines; paths start at it. */
export function unknownGuardrailFields({
  checks,
  actions,
}: {
  readonly checks?: unknown;
  readonly actions?: unknown;
}): Fault[] {
  return [
    ...prefixFaults(['actions'], unknownFieldFaults(GuardrailActions, actions)),
    ...prefixFaults(['checks'], unknownParameters(checks)),
  ];
}

/** Returns the parameters of stored checks that no schema defines; paths start at the list. */
export function unknownParameters(checks: unknown): Fault[] {
  if (!Array.isArray(checks)) return [];
  return checks.flatMap((check: Partial<Check> | null, at) => {
    const kind = typeof check?.id === 'string' ? kinds.get(check.id.toLowerCase()) : undefined;
    if (kind === undefined) return [];
    const unknown = unknownFieldFaults(kind.parameters, check?.parameters);
    return prefixFaults([at, 'parameters'], unknown);
  });
}

/** Schemas of the checks validated so far, by id in lower case. */
const parameterSchemas = new Map<string, SelfCompilingSchema<z.ZodType>>();

function parameterFaults(
  id: string,
  kind: CheckKind,
  parameters: Readonly<Record<string, unknown>>,
  judges: CheckValidators,
): Fault[] {
  const schema = parameterSchemas.get(id) ?? new SelfCompilingSchema(kind.parameters);
  parameterSchemas.set(id, schema);
  const parsed = schema.safeParse(parameters);
  const unknown = unknownFieldFaults(kind.parameters, parameters);
  if (!parsed.success) return [...unknown, ...faultsOfIssues(parsed.error.issues)];
  if (unknown.length > 0) return unknown;
  const rules = contentRules[id];
  if (rules !== undefined) return rules(parameters, judges);
  return kind.faults?.(parameters, judges.trusted) ?? [];
}

type Parameters = Readonly<Record<string, unknown>>;

/** Rules for the values of single parameters, whose types the catalogue has checked. */
const contentRules: Readonly<
  Record<string, (values: Parameters, judges: CheckValidators) => Fault[]>
> = {
  'default.regexmatch': ({ rule }, { patterns }) =>
    faultAt('rule', patterns.regexFault(rule as string)),
  'default.regexreplace': ({ rule }, { patterns }) =>
    faultAt('rule', patterns.replaceRuleFault(rule as string)),
  'default.requiredmetadatakeyvaluepairs': metadataFaults,
  'default.jsonschema': ({ schema }, { patterns }) =>
    prefixFaults(['schema'], jsonSchemaFaults(schema, patterns)),
  'default.webhook': (values, { trusted }) => [
    ...faultAt('webhookURL', outboundUrlFault(values.webhookURL as string, trusted)),
    ...headerFaults(values),
  ],
  'default.log': (values, { trusted }) => [
    ...faultAt('logURL', outboundUrlFault(values.logURL as string, trusted)),
    ...headerFaults(values),
  ],
  'default.jwt': (values, { trusted }) => tokenValidationFaults(values, trusted),
  ...callCheckFaults,
};

/** With matchType regex, values are patterns or lists of patterns. */
function metadataFaults(
  { metadataPairs, matchType: how }: Parameters,
  judges: CheckValidators,
): Fault[] {
  if (how !== 'regex') return [];
  const pairs = Object.entries(metadataPairs as Parameters);
  const faults = pairs.flatMap(([key, value]) =>
    [value].flat().flatMap((item) => {
      const fault =
        typeof item === 'string' ? judges.patterns.regexFault(item) : 'must be a pattern';
      return faultAt(key, fault);
    }),
  );
  return prefixFaults(['metadataPairs'], faults);
}

function headerFaults({ headers: set, forwardHeaders }: Parameters): Fault[] {
  const fixed = headerMapFaults((set ?? {}) as Record<string, string>, 'set');
  const forwarded = headerListFaults((forwardHeaders ?? []) as string[], 'forwarded');
  return [...prefixFaults(['headers'], fixed), ...prefixFaults(['forwardHeaders'], forwarded)];
}
