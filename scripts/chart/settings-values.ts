/** Defines which settings the chart accepts by name, and their YAML types. */
import { settingsJsonSchema } from '../../src/settings/describe.ts';

/** Settings that the chart derives from other values; setting them directly could contradict those. */
const derived =
  /^(DB_|MYSQL_|PORT$|NO_PROXY$|GATEWRIGHT_(REGION$|LINK_|HOST|HOME|METRICS_PORT|INFERENCE_PORT|MCP_PORT|LAME_DUCK_SECONDS|SHUTDOWN_DRAIN_SECONDS|CREDENTIALS|OWNER|MASTER_KEY|SECRETS_DIR)|GATEWRIGHT_SYNC_(PORT|INTERVAL_SECONDS|DRIFT$|WEBHOOK_SECRET)|GATEWRIGHT_(GIT|KUBERNETES|VAULT)_|SSH_AUTH_SOCK)/;

interface Property {
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly writeOnly?: boolean;
  readonly description: string;
}

/** JSON Schema of `settings`, without secrets, which do not belong in a values file. */
export function settingsValues(): Record<string, unknown> {
  const { properties } = settingsJsonSchema() as { properties: Record<string, Property> };
  const taken = Object.entries(properties).filter(
    ([name, { writeOnly }]) => !derived.test(name) && writeOnly !== true && !name.endsWith('_FILE'),
  );
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(taken.map(([name, property]) => [name, valueSchema(property)])),
  };
}

/** JSON Schema of `sync.secretSettings`: references to secrets without other values. */
export function secretSettingsValues(): Record<string, unknown> {
  const { properties } = settingsJsonSchema() as { properties: Record<string, Property> };
  const secrets = Object.entries(properties).filter(
    ([name, { writeOnly }]) => writeOnly === true && !derived.test(name),
  );
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      secrets.map(([name, { description }]) => [
        name,
        { allOf: [{ $ref: '#/$defs/secretKey' }], description },
      ]),
    ),
  };
}

/** YAML parses `ON` as true and `12` as a number. */
function valueSchema({ pattern, enum: words, description }: Property): Record<string, unknown> {
  if (pattern?.startsWith('^(?:on|off|') === true)
    return { type: ['boolean', 'string'], description };
  if (pattern === '^\\d{1,9}$') return { type: ['integer', 'string'], pattern, description };
  return { type: 'string', description, ...(words === undefined ? {} : { enum: words }) };
}
