/** HTTP routes that describe this SCIM service to directories (RFC 7644, 4). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { resultsMax, scimList, scimListOf, scimRoute } from './scim-routes.ts';

const base = '/v1/scim/v2';
const core = 'urn:ietf:params:scim:schemas:core:2.0';
const schemaUrn = (name: string): string => `${core}:${name}`;

const Meta = z.object({ resourceType: z.string(), location: z.string() });
const Supported = z.object({ supported: z.boolean() });

const ServiceProviderConfig = z.object({
  schemas: z.array(z.string()),
  patch: Supported,
  bulk: Supported.extend({ maxOperations: z.int(), maxPayloadSize: z.int() }),
  filter: Supported.extend({ maxResults: z.int() }),
  changePassword: Supported,
  sort: Supported,
  etag: Supported,
  authenticationSchemes: z.array(
    z.object({ type: z.string(), name: z.string(), description: z.string(), primary: z.boolean() }),
  ),
  meta: Meta,
});

const ResourceType = z.object({
  schemas: z.array(z.string()),
  id: z.string(),
  name: z.string(),
  endpoint: z.string(),
  schema: z.string(),
  meta: Meta,
});

const attributeFields = {
  name: z.string(),
  type: z.enum(['string', 'boolean', 'complex']),
  multiValued: z.boolean(),
  required: z.boolean(),
  caseExact: z.boolean(),
  mutability: z.enum(['readWrite', 'readOnly']),
  returned: z.literal('default'),
  uniqueness: z.enum(['none', 'server']),
};
const Attribute = z.object({
  ...attributeFields,
  subAttributes: z.array(z.object(attributeFields)).optional(),
});
const Schema = z.object({
  schemas: z.array(z.string()),
  id: z.string(),
  name: z.string(),
  attributes: z.array(Attribute),
  meta: Meta,
});

export function scimDiscoveryRoutes(): Route<Principal>[] {
  const shared = { ...scimRoute, method: 'GET' } as const;
  return [
    route({
      ...shared,
      path: '/scim/v2/ServiceProviderConfig',
      summary: 'Get the SCIM features of this service',
      response: ServiceProviderConfig,
      handle: async () => serviceProviderConfig,
    }),
    ...discoveryRoutes(shared, 'ResourceTypes', 'SCIM resource types', {
      items: resourceTypes,
      form: ResourceType,
    }),
    ...discoveryRoutes(shared, 'Schemas', 'SCIM schemas', {
      items: schemas,
      form: Schema,
    }),
  ];
}

/** Routes for the list and for each item by its id. */
function discoveryRoutes<T extends z.ZodObject>(
  shared: typeof scimRoute & { readonly method: 'GET' },
  name: string,
  plural: string,
  { items, form }: { readonly items: (z.input<T> & { readonly id: string })[]; readonly form: T },
): Route<Principal>[] {
  const path = `/scim/v2/${name}`;
  return [
    route({
      ...shared,
      path,
      summary: `List the ${plural}`,
      response: scimListOf(form as z.ZodType),
      handle: async () => scimList(items, { limit: items.length, offset: 0 }, items.length),
    }),
    route({
      ...shared,
      path: `${path}/:id`,
      summary: `Get one of the ${plural}`,
      response: form as z.ZodType,
      handle: async ({ params }) => {
        const item = items.find(({ id }) => id === params.id);
        if (item === undefined) throw new ApiError('notFound');
        return item;
      },
    }),
  ];
}

const serviceProviderConfig: z.infer<typeof ServiceProviderConfig> = {
  schemas: [schemaUrn('ServiceProviderConfig')],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: resultsMax },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      primary: true,
      description: 'An API key of the organisation with organisation_users.update',
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
};

const resourceTypes = ['User', 'Group'].map(
  (name): z.infer<typeof ResourceType> => ({
    schemas: [schemaUrn('ResourceType')],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema: schemaUrn(name),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }),
);

type AttributeFields = z.infer<z.ZodObject<typeof attributeFields>>;

function attribute(name: string, more: Partial<AttributeFields> = {}): AttributeFields {
  return {
    name,
    type: 'string' as const,
    multiValued: false as const,
    required: false as const,
    caseExact: true as const,
    mutability: 'readWrite' as const,
    returned: 'default' as const,
    uniqueness: 'none' as const,
    ...more,
  };
}

const address = { required: true, caseExact: false, uniqueness: 'server' } as const;
const attributesOf: Readonly<Record<string, z.infer<typeof Attribute>[]>> = {
  User: [
    attribute('userName', address),
    {
      ...attribute('name', { type: 'complex' }),
      subAttributes: [attribute('givenName'), attribute('familyName')],
    },
    {
      ...attribute('emails', { type: 'complex', multiValued: true, mutability: 'readOnly' }),
      subAttributes: [
        attribute('value', { caseExact: false, mutability: 'readOnly' }),
        attribute('type', { caseExact: false, mutability: 'readOnly' }),
        attribute('primary', { type: 'boolean', mutability: 'readOnly' }),
      ],
    },
    attribute('active', { type: 'boolean' }),
  ],
  Group: [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    {
      ...attribute('members', { type: 'complex', multiValued: true }),
      subAttributes: [attribute('value')],
    },
  ],
};

const schemas = Object.entries(attributesOf).map(
  ([name, attributes]): z.infer<typeof Schema> => ({
    schemas: [schemaUrn('Schema')],
    id: schemaUrn(name),
    name,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schemaUrn(name)}` },
  }),
);
