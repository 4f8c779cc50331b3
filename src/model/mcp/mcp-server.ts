/** Defines the bodies that create and update MCP servers, a workspace's instances of an MCP integration. */
import { z } from 'zod';
import { described } from '../wire/described.ts';
import { freeText, ResourceName, WorkspaceReference } from '../wire/resource-fields.ts';
import { Slug } from '../wire/slug.ts';
import { DisabledClientCapabilities } from './client-capability.ts';
import { DefinitionPolicy } from './definition-state.ts';
import { DisabledCapabilities } from './mcp-integration.ts';

const usersMax = 1000;
const tokenLengthMax = 16_384;

export const DefaultUserAccess = z.enum(['allow', 'deny']);

/** Fields that restrict capabilities and users. */
const accessFields = {
  disabled_capabilities: described(
    DisabledCapabilities.optional(),
    'Tools, prompts and resources that may not be used here; all others that the integration allows may.',
  ),
  disabled_client_capabilities: described(
    DisabledClientCapabilities.nullable().optional(),
    'Capabilities of clients that the server may not use here, beside those that the integration disables.',
  ),
  definition_policy: described(
    DefinitionPolicy.nullable().optional(),
    'What happens here to definitions that are not approved. The stricter policy of integration and server applies.',
    { default: 'observe' },
  ),
  default_user_access: described(
    DefaultUserAccess.nullable().optional(),
    'Whether users who are not listed may use the server.',
    { default: 'allow' },
  ),
  user_access: described(
    z
      .array(
        z.strictObject({
          user_id: described(z.uuid(), 'User of the organisation.', {
            examples: ['019a2c3e-6f1b-7cc4-9d21-5b8a7e3f0c12'],
          }),
          enabled: described(z.boolean(), 'Whether the user may use the server.'),
        }),
      )
      .max(usersMax)
      .optional(),
    'Access of single users.',
  ),
};

export const McpServerSlug = Slug.min(3).max(50);

/** Body of POST /mcp-servers. `mcp_integration_id` is a UUID or a slug. */
export const McpServerCreate = z.object({
  name: ResourceName,
  mcp_integration_id: described(
    z.string().min(1).max(255),
    'Integration of this server, by UUID or slug.',
  ),
  workspace_id: WorkspaceReference.optional(),
  description: described(freeText(500).nullable().optional(), 'Purpose of the server.'),
  slug: described(
    McpServerSlug.optional(),
    'Name in the address, /{slug}/mcp; generated from the name, with six random digits, if omitted.',
  ),
  ...accessFields,
});
export type McpServerCreate = z.infer<typeof McpServerCreate>;

/** Body of PUT /mcp-servers/{id}: an absent field is unchanged, null clears it, lists are replaced as a whole. */
export const McpServerUpdate = McpServerCreate.omit({
  mcp_integration_id: true,
  workspace_id: true,
  slug: true,
}).partial();
export type McpServerUpdate = z.infer<typeof McpServerUpdate>;

/** Body of PUT /mcp-servers/{id}/user-access: merged by user; either field identifies the user. */
export const McpUserAccessPut = z.object({
  user_access: z
    .array(
      z
        .strictObject({
          user_id: z.uuid().optional(),
          id: z.uuid().optional(),
          enabled: z.boolean(),
        })
        .refine(({ user_id: user, id }) => (user === undefined) !== (id === undefined), {
          message: 'requires exactly one of user_id and id',
        }),
    )
    .max(usersMax)
    .optional(),
  default_user_access: DefaultUserAccess.optional(),
});
export type McpUserAccessPut = z.infer<typeof McpUserAccessPut>;

const Token = z
  .string()
  .min(1)
  .max(tokenLengthMax)
  .regex(/^[\x21-\x7e]+$/, 'must contain visible ASCII characters only');

/** Body of PUT /mcp-servers/{id}/tokens. */
export const McpTokensPut = z.object({
  access_token: Token,
  refresh_token: Token.nullable().optional(),
});
