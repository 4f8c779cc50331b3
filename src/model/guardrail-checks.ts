/** Knows the built-in guardrail checks: their parameters, and which of them judge MCP tool calls. */
import { z } from 'zod';
import type { TrustedHosts } from '../trusted-hosts.ts';
import { below, type Fault, faultAt, faultsOfIssues } from './fault.ts';
import { headerListFaults, headerMapFaults } from './forward-headers.ts';
import type { GuardrailTarget } from './guardrail.ts';
import { HotSchema } from './hot-schema.ts';
import { jsonSchemaFaults } from './json-schema-patterns.ts';
import { outboundUrlFault } from './outbound-url.ts';
import { PatternJudge } from './regex-rule.ts';

interface CheckKind {
  /** Parameters it needs and the form of those it takes; keys beyond these are kept. */
  readonly parameters: z.ZodType;
  /** Deterministic, so fit for tool calls (target `mcp_tools`). */
  readonly tools: boolean;
}

const not = z.boolean().optional();
const strings = z.array(z.string()).min(1);
const quantifier = z.enum(['any', 'all', 'none']).optional();
const count = z.int().min(0).optional();
const schemaDocument = z.union([z.record(z.string(), z.unknown()), z.string()]);
const timeoutMs = z.number().positive().max(60_000).optional();
const headers = z.record(z.string(), z.string()).optional();
const matchType = z.enum(['exact', 'contains', 'containsAll', 'regex']).optional();

/** Sets of keys that one check may read, separated by commas. */
const jwksUrisMax = 10;

/** HMAC and `none` are left out: their key would be the public one. */
const asymmetric = ['RS', 'PS', 'ES'].flatMap((family) =>
  ['256', '384', '512'].map((size) => family + size),
);
const algorithms = z.array(z.enum([...asymmetric, 'EdDSA', 'Ed25519'])).min(1);

const jwtParameters = z.looseObject({
  jwksUri: z.string().min(1).optional(),
  introspectEndpoint: z.string().min(1).optional(),
  headerKey: z.string().min(1),
  cacheMaxAge: z.int().min(60).max(86_400).optional(),
  clockTolerance: z.int().min(0).max(300).optional(),
  maxTokenAge: z
    .string()
    .regex(/^\d{1,6} ?(ms|s|sec|secs|m|min|mins|h|hr|hrs|d|day|days|w)$/, 'must be like 30m or 1d')
    .optional(),
  algorithms: algorithms.optional(),
});

const webhookParameters = z.looseObject({
  webhookURL: z.string().min(1),
  headers,
  timeout: timeoutMs,
  failOnError: z.boolean().optional(),
  forwardHeaders: z.array(z.string()).optional(),
});

function counting(what: string): z.ZodType {
  return z.looseObject({ [`min${what}`]: count, [`max${what}`]: count, not });
}

const tools = true;
const any = z.looseObject({});

/** By id in lower case, because clients spell some ids in two ways. */
const catalogue: Readonly<Record<string, CheckKind>> = {
  'default.regexmatch': { parameters: z.looseObject({ rule: z.string().min(1), not }), tools },
  'default.regexreplace': {
    parameters: z.looseObject({
      rule: z.string().min(1),
      redactText: z.string().optional(),
      failOnDetection: z.boolean().optional(),
    }),
    tools,
  },
  'default.sentencecount': { parameters: counting('Sentences'), tools },
  'default.wordcount': { parameters: counting('Words'), tools },
  'default.charactercount': { parameters: counting('Characters'), tools },
  'default.contains': {
    parameters: z.looseObject({ words: strings, operator: quantifier }),
    tools,
  },
  'default.jsonschema': { parameters: z.looseObject({ schema: schemaDocument, not }), tools },
  'default.jsonkeys': {
    parameters: z.looseObject({ keys: strings, operator: quantifier }),
    tools,
  },
  'default.validurls': {
    parameters: z.looseObject({ onlyDNS: z.boolean().optional(), not }),
    tools: false,
  },
  'default.containscode': {
    parameters: z.looseObject({ format: z.string().min(1), not }),
    tools: false,
  },
  'default.webhook': { parameters: webhookParameters, tools },
  'default.log': {
    parameters: z.looseObject({ logURL: z.string().min(1), headers, timeout: timeoutMs }),
    tools: false,
  },
  'default.endswith': { parameters: z.looseObject({ suffix: z.string().min(1), not }), tools },
  'default.alluppercase': { parameters: z.looseObject({ not }), tools: false },
  'default.alllowercase': { parameters: z.looseObject({ not }), tools: false },
  'default.isalllowercase': { parameters: z.looseObject({ not }), tools: false },
  'default.notnull': { parameters: z.looseObject({ not }), tools },
  'default.modelwhitelist': { parameters: z.looseObject({ models: strings, not }), tools: false },
  'default.modelrules': {
    parameters: z.looseObject({ rules: z.record(z.string(), z.unknown()), not }),
    tools: false,
  },
  'default.requiredmetadatakeys': {
    parameters: z.looseObject({ metadataKeys: strings, operator: quantifier }),
    tools,
  },
  'default.requiredmetadatakeyvaluepairs': {
    parameters: z.looseObject({
      metadataPairs: z.record(z.string(), z.unknown()),
      operator: quantifier,
      matchType,
    }),
    tools,
  },
  'default.allowedrequesttypes': {
    parameters: z.looseObject({
      allowedTypes: z.array(z.string()).optional(),
      blockedTypes: z.array(z.string()).optional(),
    }),
    tools: false,
  },
  'default.jwt': { parameters: jwtParameters, tools },
  'default.addprefix': { parameters: z.looseObject({ prefix: z.string() }), tools: false },
  'portkey.pii': {
    parameters: z.looseObject({ categories: strings, redact: z.boolean().optional() }),
    tools: false,
  },
  'portkey.moderatecontent': { parameters: z.looseObject({ categories: strings }), tools: false },
  'portkey.language': {
    parameters: z.looseObject({ language: z.union([z.string().min(1), strings]), not }),
    tools: false,
  },
  'portkey.gibberish': { parameters: z.looseObject({ not }), tools: false },
  'panw-prisma-airs.intercept': { parameters: any, tools: false },
  'bedrock.guard': {
    parameters: z.looseObject({
      guardrailId: z.string().min(1),
      guardrailVersion: z.string().min(1),
    }),
    tools: false,
  },
};

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
    const kind = Object.hasOwn(catalogue, id) ? catalogue[id] : undefined;
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
