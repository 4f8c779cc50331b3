/**
 * HTTP routes for virtual keys: providers with an account of their own, in one request
 * (docs/reference/resources.md, Virtual keys).
 */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import type { Route } from '../../http/routes/route.ts';
import { RateLimitsInput } from '../../model/providers/provider.ts';
import { VirtualKeyCreate, VirtualKeyUpdate } from '../../model/providers/virtual-key.ts';
import { listSchema } from '../../model/wire/paging.ts';
import type { AdminDeps } from '../request/deps.ts';
import { createFields, updateFields, WorkspaceQuery } from '../request/frame-fields.ts';
import { resourceRoutes } from '../request/resource-routes.ts';
import { ProviderItem, ProviderRecord, providerToItem } from './provider-record.ts';
import { getProvider, listProviderItems, ProviderListQuery } from './providers.ts';
import { createVirtualKey, deleteVirtualKey, updateVirtualKey } from './virtual-key-changes.ts';

const object = z.literal('virtual-key');
const VirtualKeyRecord = ProviderRecord.extend({ object });
const VirtualKeyItem = ProviderItem.extend({ object });
const rate_limits = RateLimitsInput.nullable().optional();
const CreateBody = VirtualKeyCreate.extend({ ...createFields, rate_limits });
const UpdateBody = VirtualKeyUpdate.extend({ ...updateFields, rate_limits });
const Ids = z.object({ id: z.uuid(), slug: z.string() });
/** Some clients read the top level, others `data`. */
const Receipt = Ids.extend({ object, success: z.literal(true), data: Ids });

export function virtualKeyRoutes(deps: AdminDeps): Route<Principal>[] {
  const on = resourceRoutes('/virtual-keys/:providerId', (action) => `virtual_keys.${action}`);
  const toRecord = <P extends object>(record: P) => ({ ...record, object: 'virtual-key' as const });
  return [
    on.create({
      summary: 'Create a provider together with its integration',
      body: CreateBody,
      response: Receipt,
      handle: async (request) => receipt(await createVirtualKey(deps, request)),
    }),
    on.list({
      summary: 'List providers as virtual keys',
      query: ProviderListQuery,
      response: listSchema(VirtualKeyItem),
      handle: (request) =>
        listProviderItems(deps, request, (fields) => providerToItem(toRecord(fields))),
    }),
    on.get({
      summary: 'Get a provider as a virtual key',
      query: WorkspaceQuery,
      response: VirtualKeyRecord,
      handle: (request) => getProvider(deps, request, toRecord),
    }),
    on.update({
      summary: 'Update a virtual key; fields that are not sent stay',
      body: UpdateBody,
      ignoredFields: ['id', 'slug', 'provider'],
      response: Receipt,
      handle: async (request) => receipt(await updateVirtualKey(deps, request)),
    }),
    on.remove({
      summary: 'Delete a virtual key and the integration created with it',
      handle: (request) => deleteVirtualKey(deps, request),
    }),
  ];
}

function receipt({ id, slug }: z.infer<typeof Ids>): z.infer<typeof Receipt> {
  return { id, slug, object: 'virtual-key', success: true, data: { id, slug } };
}
