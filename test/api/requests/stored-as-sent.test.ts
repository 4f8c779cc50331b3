/**
 * Verifies that each field of each resource is returned as it was sent, by its own route and to
 * sync; exceptions are listed with reasons.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isUuid } from '../../../src/model/wire/slug-forms.ts';
import { DrawnValues, type Schema } from '../../support/interface/generated-values.ts';
import { Description, type Operation, onOneMount } from '../../support/interface/response-check.ts';
import { isToken, RightRequests } from '../../support/interface/valid-requests.ts';
import { exchange } from '../../support/network/exchange.ts';
import { isLong, seed } from '../../support/run/test-effort.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

let server: TestServer;
let requests: RightRequests;
let drawn: DrawnValues;
let operations: readonly Operation[];
let described: readonly Operation[];

beforeAll(async () => {
  server = await startTestServer();
  const document = await exchange('GET', `${server.url}/openapi.json`, undefined, {});
  const description = new Description(document.body);
  drawn = new DrawnValues(description.schemas);
  described = description.operations;
  const guarded = description.operations.filter(
    (one) => one.statuses.includes('401') && !isToken(one) && !one.path.endsWith('/session'),
  );
  operations = onOneMount(guarded, seed);
  const token = await server.token();
  requests = new RightRequests(server, description, token, (faults) => expect(faults).toEqual([]));
  await requests.furnish();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Fields that are returned in another form, by path, with the reason. */
const otherwise: Readonly<Record<string, string>> = {
  '/organisations/self name': 'is told below `data`',
  '/workspaces name': 'is told behind the icon',
  '/workspaces security_settings': 'cleared is what everyone has',
  '/workspaces defaults': 'is told with what is not set',
  '/workspaces settings': 'is told with what is not set',
  '/configs isDefault': 'is told as is_default',
  '/guardrails actions': 'is told with what is not set',
  '/guardrails/mcp-servers run_on': 'is told once each',
  '/api-keys type': 'is told with its subtype',
  '/api-keys reset_usage': 'is an order',
  '/api-keys rotation_policy': 'is told with the next rotation',
  '/api-keys defaults': 'is told with what is not set',
  '/secret-references allow_all_workspaces': 'cleared is true',
  '/secret-references auth_config': 'is told with its secrets masked',
  '/mcp-integrations configurations': 'is told with its secrets masked',
  '/mcp-integrations disabled_capabilities': 'is told of each of its capabilities',
  '/mcp-integrations global_workspace_access': 'cleared is open',
  '/mcp-integrations/workspaces override_existing_workspace_access': 'is an order',
  '/mcp-integrations/workspaces global_workspace_access': 'cleared is open',
  '/mcp-servers disabled_capabilities': 'is told of each of its capabilities',
  '/mcp-servers default_user_access': 'cleared is allow',
  '/mcp-integrations/capabilities capabilities': 'is told as `data`',
  '/mcp-servers/capabilities capabilities': 'is told as `data`',
  '/mcp-servers/tokens access_token': 'is a secret',
  '/mcp-servers/tokens refresh_token': 'is a secret',
  '/policies/usage-limits reset_usage_for_value': 'is an order',
  '/policies/usage-limits next_usage_reset_at':
    'begins with its day, and cleared is as the period says',
  '/providers reset_usage': 'is an order',
  '/integrations key': 'is a secret',
  '/integrations configurations': 'is told with its secrets masked',
  '/integrations models': 'is told of each of its models',
  '/integrations global_workspace_access': 'is told as global_workspace_access_settings',
  '/integrations create_default_provider': 'is an order',
  '/integrations default_provider_slug': 'is told of the provider',
  '/integrations/models models': 'is told among those of the service',
  '/integrations/integration-models models': 'is told among those of the service',
  '/integrations/workspaces global_workspace_access': 'is told with what is not set',
  '/integrations/workspaces override_existing_workspace_access': 'is an order',
  '/integrations/workspaces override_existing_workspaces_access': 'is an order',
  '/integrations/workspaces create_default_provider': 'is an order',
  '/integrations/workspaces default_provider_slug': 'is told of the provider',
  '/virtual-keys reset_usage': 'is an order',
  '/virtual-keys key': 'is a secret',
  '/virtual-keys apiVersion': 'is told of its integration',
  '/virtual-keys resourceName': 'is told of its integration',
  '/virtual-keys deploymentName': 'is told of its integration',
  '/virtual-keys deploymentConfig': 'is told of its integration',
  '/prompts string': 'is of a version that is not in use yet',
  '/prompts model': 'is of a version that is not in use yet, and told among its parameters',
  '/prompts is_raw_template': 'is of a version that is not in use yet',
  '/prompts functions': 'is of a version that is not in use yet',
  '/prompts tools': 'is of a version that is not in use yet',
  '/prompts tool_choice': 'is of a version that is not in use yet',
  '/prompts parameters': 'is of a version that is not in use yet, and told with the model',
  '/prompts virtual_key': 'is of a version that is not in use yet',
  '/prompts template_metadata': 'is of a version that is not in use yet',
  '/prompts prompt_metadata': 'is another name of template_metadata',
  '/prompts version_description': 'is of a version that is not in use yet',
  '/prompts/partials string': 'is of a version that is not in use yet',
  '/prompts/partials version_description': 'is of a version that is not in use yet',
  '/admin/organisation/defaults export_settings': 'is told with what is not set',
  '/deployments auth_settings': 'is told with what is not set',
  '/deployments type': 'cleared is production',
  '/deployments rotate_auth': 'is an order',
  '/deployments override_existing': 'is an order',
  '/scim/workspaces scim_group_name': 'is told as scim_group',
  '/workspace-exclusions/input-guardrails workspaces': 'is told of every workspace',
  '/workspace-exclusions/output-guardrails workspaces': 'is told of every workspace',
  '/workspace-exclusions/input-guardrails override_existing': 'is an order',
  '/workspace-exclusions/output-guardrails override_existing': 'is an order',
};

/** Further fields that sync receives in another form. */
const otherwiseInSpec: Readonly<Record<string, string>> = {
  '/configs isDefault': 'moves on with the next one',
  '/deployments is_default': 'moves on with the next one',
  '/deployments type': 'cleared is production',
  '/deployments auth_settings': 'is told without what is cleared',
  '/mcp-integrations disabled_capabilities': 'is told in an order of its own',
  '/mcp-servers disabled_capabilities': 'is told in an order of its own',
  '/secret-references auth_config': 'is told with marks of its secrets',
  '/mcp-integrations configurations': 'is told with marks of its secrets',
  '/integrations configurations': 'is told with marks of its secrets',
  '/integrations models': 'is told with marks of its secrets',
  '/integrations key': 'is a secret',
  '/integrations create_default_provider': 'is an order',
  '/integrations default_provider_slug': 'is told of the provider',
  '/prompts model': 'is told among the parameters',
  '/prompts prompt_metadata': 'is another name of template_metadata',
  '/secret-references allow_all_workspaces': 'cleared is true',
  '/virtual-keys apiVersion': 'is told of its integration',
  '/virtual-keys resourceName': 'is told of its integration',
  '/virtual-keys deploymentName': 'is told of its integration',
  '/virtual-keys deploymentConfig': 'is told of its integration',
  '/virtual-keys key': 'is a secret',
};

/** Fields of an update that are addresses, have a SCIM form, or that a run reports about itself. */
const isAside = (field: string): boolean =>
  / workspace_id$|^\/(?:scim\/v2|gatewright)\//.test(field);

/** The path without mount and parameters; workspaces, keys and models have several paths. */
const bare = ({ path }: Pick<Operation, 'path'>) =>
  path
    .replace(/^\/(?:v1|v2|admin\/v2)(?=\/)/, '')
    .replaceAll(/\/\{\w+\}/g, '')
    .replace(/^\/admin(?=\/workspaces)/, '')
    .replace(/^\/api-keys\/\w+/, '/api-keys');

/** Returns the operation that reads what this one writes, if any. */
function readingOf({ method, path }: Operation): Operation | undefined {
  const collection = path.replace(/\/\{type\}\/\{subType\}$|\/(?:service|user)$/, '');
  const item = new RegExp(`^${collection.replaceAll(/[{}]/g, String.raw`\$&`)}/\\{\\w+\\}$`);
  return described.find(
    (one) => one.method === 'GET' && (method === 'POST' ? item.test(one.path) : one.path === path),
  );
}

/** Boundary values of a field. */
function edgesOf(schema: Schema): unknown[] {
  const whole = drawn.resolve(schema);
  const options = (whole.anyOf ?? whole.oneOf ?? [whole]) as readonly Schema[];
  return options.flatMap((option): unknown[] => {
    const { type, format, pattern, minLength = 0, maxLength = 4_000 } = drawn.resolve(option);
    if (type === 'null') return [null];
    if (type !== 'string' || format !== undefined || pattern !== undefined) return [];
    const most = Math.min(Number(maxLength), 4_000);
    const texts = ['é'.repeat(most), '😀'.repeat(Math.floor(most / 2))];
    texts.push('', ' 𝒳 ☃ é "\\\n😀 \u200d\u202e', 'e\u0301 \u00e9');
    return texts.filter(({ length }) => length >= Number(minLength) && length <= most);
  });
}

/** One value for each field, all values in a long run. */
function valuesOf(name: string, schema: Schema): unknown[] {
  const numRuns = isLong ? 8 : 1;
  const found = [...edgesOf(schema), ...fc.sample(drawn.right(schema, 1), { numRuns, seed })];
  return isLong ? found : [found[(seed + name.length) % found.length]];
}

/** Some fields of an operation, others for each seed; all of them in a long run. */
function fieldsOf({ schema, path }: Operation): (readonly [string, Schema])[] {
  const all = drawn.fieldsOf(schema!).filter(([name]) => name !== 'managed_by');
  return isLong ? all : all.filter((_, at) => (at + seed + path.length) % 4 === 0);
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === '{}' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/**
 * Returns whether the response contains what was sent. Empty values are returned as absent, times with
 * milliseconds, and flags as numbers where clients expect that. An object may have more members than were
 * sent, and a single value may stand for a list with this value.
 */
function isReturned(sent: unknown, reported: unknown): boolean {
  if (isNothing(sent)) return isNothing(reported);
  if (Array.isArray(sent)) {
    const isList = Array.isArray(reported) && sent.length === reported.length;
    return isList && sent.every((one, at) => isReturned(one, reported[at]));
  }
  if (typeof sent === 'object') {
    const whole = typeof reported === 'string' ? JSON.parse(reported) : reported;
    const found = Array.isArray(whole) && whole.length === 1 ? whole[0] : whole;
    return Object.entries(sent as object).every(([key, value]) => isReturned(value, found?.[key]));
  }
  if (typeof sent === 'boolean') return reported === sent || reported === Number(sent);
  const isMoment = typeof sent === 'string' && /^\d{4}-\d\d-\d\dT/.test(sent);
  return sent === reported || (isMoment && Date.parse(sent) === Date.parse(String(reported)));
}

/** A reference may be sent as a slug and is returned as an id. */
const isReference = (name: string, reported: unknown): boolean =>
  name.endsWith('_id') && isUuid(String(reported));

const abbreviate = (value: unknown) => JSON.stringify(value)?.slice(0, 160);

/** The stored value of a field, and where it is found. */
interface StoredField {
  readonly field: string;
  readonly name: string;
  readonly value: unknown;
  readonly id: string;
}

/** Sends one value; returns the faults of the response, and what sync should receive. */
async function tryOne(
  one: Operation,
  reading: Operation,
  [name, value]: readonly [string, unknown],
): Promise<{ fault?: string; stored?: StoredField }> {
  const field = `${bare(one)} ${name}`;
  const place = await requests.place(one);
  const right = requests.right(one);
  const body = { ...(right.body as object), [name]: value };
  const answer = await requests.ask(one, place, { ...right, body });
  const sent = `${one.method} ${field} ${abbreviate(value)}`;
  if (answer.status >= 500) return { fault: `${sent} is ${answer.status}` };
  if (answer.status >= 300) return {};
  const isMade = one.method === 'POST';
  // Treated as omitted: the returned value is then a default.
  if (isMade && value === null) return {};
  const id = reading.path.startsWith('/iam/') ? answer.body.name : answer.body.id;
  const item = reading.path.replace(/[^/]+$/, id ?? answer.body.data?.slug);
  const { query = '' } = requests.right(reading);
  const { body: responseBody } = await requests.ask(reading, isMade ? item : place, { query });
  const isRight =
    field in otherwise ||
    isReference(name, responseBody[name]) ||
    isReturned(value, responseBody[name]);
  return {
    ...(isRight ? {} : { fault: `${sent} is told as ${abbreviate(responseBody[name])}` }),
    ...(isMade && id !== undefined ? { stored: { field, name, value, id } } : {}),
  };
}

it('returns every field as it was sent', async () => {
  const faults: (string | undefined)[] = [];
  const stored: StoredField[] = [];
  let count = 0;
  for (const one of operations) {
    const reading = ['POST', 'PUT'].includes(one.method) ? readingOf(one) : undefined;
    if (reading === undefined || one.schema === undefined) continue;
    for (const [name, schema] of fieldsOf(one)) {
      if (isAside(`${bare(one)} ${name}`)) continue;
      for (const value of valuesOf(name, schema)) {
        const found = await tryOne(one, reading, [name, value]);
        faults.push(found.fault);
        if (found.stored !== undefined) stored.push(found.stored);
        count += 1;
      }
    }
  }
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  expect(count).toBeGreaterThan(60);
  const { body } = await server.request('GET', '/admin/v2/gatewright/snapshot?owner=git');
  const specs = new Map<string, Record<string, unknown>>(
    body.resources.map(({ id, spec }: { id: string; spec: object }) => [id, spec]),
  );
  const inSpecs = stored.filter(({ id }) => specs.has(id));
  const lost = inSpecs.filter(
    ({ field, name, value, id }) =>
      !(field in otherwiseInSpec) &&
      !isReference(name, specs.get(id)![name]) &&
      !isReturned(value, specs.get(id)![name]),
  );
  expect(
    lost.map(
      ({ field, name, value, id }) =>
        `${field} ${abbreviate(value)} is ${abbreviate(specs.get(id)![name])}`,
    ),
  ).toEqual([]);
  expect(inSpecs.length).toBeGreaterThan(5);
});
