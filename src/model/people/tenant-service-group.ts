/** Defines the bodies that create and update child tenant service groups (TSGs). */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName } from '../wire/resource-fields.ts';

/** Body of POST /tsgs. The server chooses the TSG id, because a reused id would inherit old grants. */
export const TenantServiceGroupCreate = z.object({
  name: ResourceName,
  description: described(freeText(1024).nullable().optional(), 'Purpose of the tenant.'),
});
export type TenantServiceGroupCreate = z.infer<typeof TenantServiceGroupCreate>;

/** Body of PUT /tsgs/{id}: an absent field is unchanged, null clears it. */
export const TenantServiceGroupUpdate = z.object({
  name: ResourceName.optional(),
  description: TenantServiceGroupCreate.shape.description,
});
export type TenantServiceGroupUpdate = z.infer<typeof TenantServiceGroupUpdate>;
