/** Tests that a misspelled field of a free-form document is an error which names the place and the fix. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { configFaults, configWarnings } from '../../../src/model/configs/config-document.ts';
import { Level } from '../../../src/model/configs/config-level.ts';
import { GuardrailActions } from '../../../src/model/guardrails/guardrail.ts';
import { checkKinds } from '../../../src/model/guardrails/guardrail-check-kinds.ts';
import {
  guardrailFaults,
  guardrailWarnings,
} from '../../../src/model/guardrails/guardrail-checks.ts';
import { McpConfigurations } from '../../../src/model/mcp/mcp-integration.ts';
import { ModelConfigurations, PricingConfig } from '../../../src/model/providers/integration.ts';
import { configurationsOf } from '../../../src/model/providers/integration-configurations.ts';
import {
  integrationFaults,
  integrationWarnings,
} from '../../../src/model/providers/integration-faults.ts';
import { aiProviders } from '../../../src/model/services/ai-providers.ts';
import { foreignActionFields } from '../../../src/model/services/foreign-fields.ts';
import type { Fault } from '../../../src/model/wire/fault.ts';
import { unknownFieldFaults } from '../../../src/model/wire/unknown-fields.ts';

type Path = readonly (string | number)[];

const limits = { rootMax: null, conditionalRootMax: null, nestedMax: null };

/** Every free-form document with a closed set of fields. */
const documents: Readonly<Record<string, z.ZodType>> = {
  'a level of a config': Level,
  'the actions of a guardrail': GuardrailActions,
  'the configurations of an MCP integration': McpConfigurations,
  'the configurations of a model': ModelConfigurations,
  'the price of a model': PricingConfig,
  ...Object.fromEntries(
    ['openai', 'anthropic', 'azure-openai', 'bedrock', 'groq'].map((service) => [
      `the configurations of ${service}`,
      configurationsOf(service),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(checkKinds)
      .filter(([, { parameters }]) => parameters instanceof z.ZodObject)
      .map(([id, { parameters }]) => [`the parameters of ${id}`, parameters]),
  ),
};

/** The path of each field of the open objects in a schema. */
function fieldsIn(schema: z.ZodType, path: Path = []): Path[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return fieldsIn(schema.unwrap() as z.ZodType, path);
  }
  if (schema instanceof z.ZodArray) return fieldsIn(schema.element as z.ZodType, [...path, 0]);
  if (!(schema instanceof z.ZodObject)) return [];
  const isOpen = schema.def.catchall instanceof z.ZodUnknown;
  return Object.entries(schema.shape).flatMap(([name, inner]) => {
    const below = fieldsIn(inner as z.ZodType, [...path, name]);
    return isOpen ? [[...path, name], ...below] : below;
  });
}

/** A document with one field, at the end of the path. */
function documentOf([first, ...rest]: Path, value: unknown = 1): unknown {
  if (first === undefined) return value;
  const inner = documentOf(rest, value);
  return typeof first === 'number' ? [inner] : { [first]: inner };
}

function misspellings(name: string): string[] {
  const letters = [...name];
  const at = Math.floor(letters.length / 2);
  const swapped = letters
    .with(at, letters[at - 1]!)
    .with(at - 1, letters[at]!)
    .join('');
  const first = name[0]!;
  return [
    letters.with(at, letters[at] === 'x' ? 'y' : 'x').join(''),
    letters.toSpliced(at, 1).join(''),
    letters.toSpliced(at, 0, 'q').join(''),
    swapped,
    (first === first.toUpperCase() ? first.toLowerCase() : first.toUpperCase()) + name.slice(1),
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ].filter((word) => word !== name && word !== '');
}

describe.each(Object.entries(documents))('%s', (_name, schema) => {
  const fields = fieldsIn(schema);

  it('accepts each of its fields, and an object of extensions', () => {
    const open = fields.map((path) => documentOf(path));
    expect(open.flatMap((document) => unknownFieldFaults(schema, document))).toEqual([]);
    expect(unknownFieldFaults(schema, { extensions: { anything: [1] } })).toEqual([]);
  });

  it('rejects each field with one wrong letter, and names its path and a field that exists', () => {
    expect(fields.length).toBeGreaterThan(0);
    const names = new Set(fields.map((path) => path.at(-1)));
    const silent = fields.flatMap((path) =>
      misspellings(String(path.at(-1))).flatMap((word) => {
        const wrong = [...path.slice(0, -1), word];
        const isKnown = fields.some((field) => field.join() === wrong.join());
        if (isKnown || foreignActionFields.includes(word)) return [];
        const faults = unknownFieldFaults(schema, documentOf(wrong));
        const suggested = /did you mean "(.+)"\?$/.exec(faults[0]?.message ?? '')?.[1];
        const isClear = faults[0]?.path.join() === wrong.join() && names.has(suggested);
        return isClear || suggested === 'extensions' ? [] : [`${wrong.join('.')}: ${suggested}`];
      }),
    );
    expect(silent).toEqual([]);
  });
});

describe('a misspelled field', () => {
  const judge = (document: Record<string, unknown>): readonly Fault[] =>
    configFaults(document, limits, []);
  const spelled = (faults: readonly Fault[]): string[] =>
    faults.map(({ path, message }) => `${path.join('.')} ${message}`);

  it.each([
    [{ inputGuardrails: ['x'] }, 'inputGuardrails', 'input_guardrails'],
    [{ retires: { attempts: 1 } }, 'retires', 'retry'],
    [{ targets: [{ wieght: 1 }] }, 'targets.0.wieght', 'weight'],
    [{ custum_host: 5 }, 'custum_host', 'custom_host'],
    [
      { strategy: { mode: 'single', on_status_code: [] } },
      'strategy.on_status_code',
      'on_status_codes',
    ],
    [{ cache: { mode: 'simple', maxAge: 3 } }, 'cache.maxAge', 'max_age'],
    [{ cb_config: { failure_treshold: 3 } }, 'cb_config.failure_treshold', 'failure_threshold'],
    [{ azure_resouce_name: 'x' }, 'azure_resouce_name', 'azure_resource_name'],
    [{ input_guardrails: [{ denny: true }] }, 'input_guardrails.0.denny', 'deny'],
    [{ before_request_hooks: [{ asnyc: true }] }, 'before_request_hooks.0.asnyc', 'async'],
    [
      { before_request_hooks: [{ checks: [{ id: 'default.notNull', is_enabld: false }] }] },
      'before_request_hooks.0.checks.0.is_enabld',
      'is_enabled',
    ],
    [
      { input_guardrails: [{ 'default.contains': { words: ['a'], oprator: 'none' } }] },
      'input_guardrails.0.default.contains.oprator',
      'operator',
    ],
  ])('is an error in the config %j', (document, path, right) => {
    expect(spelled(judge(document))).toContain(
      `${path} is not a known field; did you mean "${right}"?`,
    );
  });

  it.each([
    [
      { 'metdata.team': 'a' },
      'metdata.team is no value of a request; did you mean "metadata.team"?',
    ],
    [{ team: 'a' }, 'team is no value of a request; name metadata.KEY, params.KEY or url.pathname'],
    [{ 'metadata.a': { eq: 1 } }, 'metadata.a.eq is not a known operator; did you mean "$eq"?'],
    [{ 'metadata.a': { $gtt: 1 } }, 'metadata.a.$gtt is not a known operator; did you mean "$gt"?'],
    [{ $orr: [] }, '$orr is not a known operator; did you mean "$or"?'],
    [{ $or: {} }, '$or must be a list of queries'],
    [{ 'metadata.a': ['b'] }, 'metadata.a must be one value; write {"$in": […]} for several'],
  ])('is an error in the query %j', (query, message) => {
    const conditions = [
      Object.fromEntries([
        ['query', query],
        ['then', 'a'],
      ]),
    ];
    const strategy = { mode: 'conditional', default: 'a', conditions };
    const faults = judge({ strategy, targets: [{ name: 'a' }] });
    expect(spelled(faults)).toEqual([`strategy.conditions.0.query.${message}`]);
  });

  it('is an error in the actions and the parameters of a guardrail', () => {
    const checks = [{ id: 'default.regexMatch', parameters: { rule: 'a', nott: true } }];
    expect(
      spelled(guardrailFaults({ checks, actions: { deny: true, asnyc: true } }, 'llm', [])),
    ).toEqual([
      'actions.asnyc is not a known field; did you mean "async"?',
      'checks.0.parameters.nott is not a known field; did you mean "not"?',
    ]);
  });

  it('is an error in the configurations and prices of an integration, without values', () => {
    const faults = integrationFaults(
      {
        ai_provider_id: 'openai',
        configurations: { customHost: 'https://x.example' },
        models: [
          {
            slug: 'm',
            enabled: true,
            configurations: { customHeaders: {} },
            pricing_config: { pay_as_you_go: { request_token: { prise: 1 } } },
          },
        ],
      },
      [],
    );
    expect(spelled(faults)).toEqual([
      'configurations.customHost is not a known field; did you mean "custom_host"?',
      'models.0.configurations.customHeaders is not a known field; did you mean "custom_headers"?',
      'models.0.pricing_config.pay_as_you_go.request_token.prise is not a known field; did you mean "price"?',
    ]);
  });
});

describe('a field of another gateway with the same format', () => {
  const paths = (faults: readonly Fault[]): string[] => faults.map(({ path }) => path.join('.'));

  it('is accepted in a config with a warning', () => {
    const document = { targets: [{ aws_s3_bucket: 'files', metadata: {} }], trace_id: 'x' };
    expect(configFaults(document, limits, [])).toEqual([]);
    expect(paths(configWarnings(document))).toEqual([
      'trace_id',
      'targets.0.aws_s3_bucket',
      'targets.0.metadata',
    ]);
  });

  it('is accepted in a guardrail and in an integration with a warning', () => {
    const actions = { onFail: 'log', message: 'm' };
    const checks = [{ id: 'default.notNull', parameters: { timeout: 1 } }];
    expect(guardrailFaults({ checks, actions }, 'llm', [])).toEqual([]);
    expect(paths(guardrailWarnings({ checks, actions }))).toEqual([
      'actions.onFail',
      'actions.message',
      'checks.0.parameters.timeout',
    ]);
    const body = {
      ai_provider_id: 'vertex-ai',
      configurations: { vertex_storage_bucket_name: 'eu' },
    };
    expect(integrationFaults(body, [])).toEqual([]);
    expect(paths(integrationWarnings(body, 'vertex-ai'))).toEqual([
      'configurations.vertex_storage_bucket_name',
    ]);
    const azure = { ai_provider_id: 'openai', configurations: { azure_resource_name: 'x' } };
    expect(integrationFaults(azure, [])).toEqual([]);
    expect(paths(integrationWarnings(azure, 'openai'))).toEqual([
      'configurations.azure_resource_name',
    ]);
  });

  it('belongs to a service that exists', () => {
    const services = [...aiProviders.keys()];
    expect(
      services.filter((service) => configurationsOf(service).shape.custom_host === undefined),
    ).toEqual([]);
  });
});
