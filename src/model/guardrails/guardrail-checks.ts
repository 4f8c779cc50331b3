/** Knows what is wrong with the checks of a guardrail. */
import type { z } from 'zod';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { below, type Fault, faultAt, faultsOfIssues } from '../wire/fault.ts';
import { headerListFaults, headerMapFaults } from '../services/forward-headers.ts';
import type { GuardrailTarget } from './guardrail.ts';
import { type CheckKind, checkKinds } from './guardrail-check-kinds.ts';
import { HotSchema } from '../wire/hot-schema.ts';
import { jsonSchemaFaults } from '../patterns/json-schema-patterns.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { PatternJudge } from '../patterns/regex-rule.ts';

/** Sets of keys that one check may read, separated by commas. */
const jwksUrisMax = 10;

/** By id in lower case, because clients spell some ids in two ways. */
const kinds = new Map(Object.entries(checkKinds).map(([id, kind]) => [id.toLowerCase(), kind]));

/** Services that judge by models of their own: their checks are kept, and never fit for tool calls. */
const partner =
  /^(?:sydelabs|aporia|pillar|patronus|mistral|promptfoo|acuvity|lasso|azure)\.[a-z]+$/;

interface Check {
  readonly id: string;
  readonly parameters?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * What the schema of a guardrail cannot say, for the server and for manifests alike: its checks, and
 * that there are any, with `actions`, where a verdict has consequences of its own. `'stored'` are
 * checks that an update leaves alone.
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
    ...below(['checks'], checkFaults(sent, target, { trusted, patterns: new PatternJudge() })),
  ];
}

/** What the values of checks are judged by, the same for all checks of one document. */
export interface Judges {
  readonly trusted: TrustedHosts;
  readonly patterns: PatternJudge;
}

/**
 * Judges checks beyond their schema: required parameters of known checks, patterns, addresses and
 * headers in them, and fitness for the target. Checks with unknown ids pass as they are. Paths start
 * at the list.
 */
export function checkFaults(
  checks: readonly Check[],
  target: GuardrailTarget,
  judges: Judges,
): Fault[] {
  return checks.flatMap((check, at) => {
    const id = check.id.toLowerCase();
    const kind = kinds.get(id);
    const unfit = kind === undefined ? partner.test(id) : !kind.tools;
    const faults: Fault[] = [];
    if (target === 'mcp_tools' && unfit) {
      const message = 'is not a deterministic check, so it cannot guard MCP tools';
      faults.push({ path: ['id'], message });
    }
    if (kind !== undefined && check.parameters !== undefined) {
      const parameters = parameterFaults(id, kind, check.parameters, judges);
      faults.push(...below(['parameters'], parameters));
    }
    return below([at], faults);
  });
}

/** Of the checks that have been met, by id in lower case. */
const parameterSchemas = new Map<string, HotSchema<z.ZodType>>();

function parameterFaults(
  id: string,
  kind: CheckKind,
  parameters: Readonly<Record<string, unknown>>,
  judges: Judges,
): Fault[] {
  const schema = parameterSchemas.get(id) ?? new HotSchema(kind.parameters);
  parameterSchemas.set(id, schema);
  const parsed = schema.safeParse(parameters);
  if (!parsed.success) {
    return faultsOfIssues(parsed.error.issues);
  }
  const rules = contentRules[id];
  return rules === undefined ? [] : rules(parameters, judges);
}

type Parameters = Readonly<Record<string, unknown>>;

/** What the values of single parameters must obey; their types are known from the catalogue. */
const contentRules: Readonly<Record<string, (given: Parameters, judges: Judges) => Fault[]>> = {
  'default.regexmatch': ({ rule }, { patterns }) =>
    faultAt('rule', patterns.regexFault(rule as string)),
  'default.regexreplace': ({ rule }, { patterns }) =>
    faultAt('rule', patterns.replaceRuleFault(rule as string)),
  'default.requiredmetadatakeyvaluepairs': metadataFaults,
  'default.jsonschema': ({ schema }, { patterns }) =>
    below(['schema'], jsonSchemaFaults(schema, patterns)),
  'default.webhook': (given, { trusted }) => [
    ...faultAt('webhookURL', outboundUrlFault(given.webhookURL as string, trusted)),
    ...headerFaults(given),
  ],
  'default.log': (given, { trusted }) => [
    ...faultAt('logURL', outboundUrlFault(given.logURL as string, trusted)),
    ...headerFaults(given),
  ],
  'default.jwt': jwtFaults,
};

/** Values are patterns, or lists of them, where they are matched as such. */
function metadataFaults({ metadataPairs, matchType: how }: Parameters, judges: Judges): Fault[] {
  if (how !== 'regex') return [];
  const pairs = Object.entries(metadataPairs as Parameters);
  const faults = pairs.flatMap(([key, value]) =>
    [value].flat().flatMap((item) => {
      const fault =
        typeof item === 'string' ? judges.patterns.regexFault(item) : 'must be a pattern';
      return faultAt(key, fault);
    }),
  );
  return below(['metadataPairs'], faults);
}

function jwtFaults(given: Parameters, { trusted }: Judges): Fault[] {
  if (
    given.jwksUri === undefined &&
    given.jwks === undefined &&
    given.introspectEndpoint === undefined
  ) {
    return faultAt('jwksUri', 'is required');
  }
  const { jwksUri = '', introspectEndpoint } = given as Partial<Record<string, string>>;
  const uris = jwksUri === '' ? [] : jwksUri.split(',', jwksUrisMax + 1);
  if (uris.length > jwksUrisMax) {
    return faultAt('jwksUri', `must name at most ${jwksUrisMax} addresses`);
  }
  return [
    ...uris.flatMap((uri) => faultAt('jwksUri', outboundUrlFault(uri.trim(), trusted))),
    ...(introspectEndpoint === undefined
      ? []
      : faultAt('introspectEndpoint', outboundUrlFault(introspectEndpoint, trusted))),
  ];
}

function headerFaults({ headers: set, forwardHeaders }: Parameters): Fault[] {
  const fixed = headerMapFaults((set ?? {}) as Record<string, string>, 'set');
  const forwarded = headerListFaults((forwardHeaders ?? []) as string[], 'forwarded');
  return [...below(['headers'], fixed), ...below(['forwardHeaders'], forwarded)];
}
