/** Defines how an MCP server learns who calls. */
import { z } from 'zod';
import { headerNameFault } from '../services/forward-headers.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';

export const UserIdentityForwarding = z.strictObject({
  method: described(
    z.enum(['jwt_header', 'claims_header', 'bearer']),
    'Claims signed by the gateway, or in plain JSON; bearer is refused with the reason.',
  ),
  include_claims: described(
    z.array(z.string().min(1).max(128)).max(50).optional(),
    "Claims of the caller's token that the server receives beside those of the gateway.",
  ),
  header_name: described(
    z.string().min(1).max(64).optional(),
    'Name of the header; by default x-user-jwt or x-user-claims.',
  ),
  jwt_expiry_seconds: described(
    z.number().int().min(1).max(3600).optional(),
    'Validity of a signed header in seconds.',
    { default: 300 },
  ),
});
export type UserIdentityForwarding = z.infer<typeof UserIdentityForwarding>;

/** A method that the gateway uses. */
export type ForwardedIdentity = UserIdentityForwarding & {
  readonly method: keyof typeof identityHeaderNames;
};

export function isForwarded(setting: UserIdentityForwarding): setting is ForwardedIdentity {
  return setting.method !== 'bearer';
}

/** Names of the header by method, unless another is set. */
export const identityHeaderNames = {
  jwt_header: 'x-user-jwt',
  claims_header: 'x-user-claims',
} as const;

const usualNames: ReadonlySet<string> = new Set(Object.values(identityHeaderNames));
/** The credential of the integration, and headers of the protocol. */
const takenName = /^(?:authorization|accept|mcp-.*|last-event-id)$/;

const bearerReason =
  'bearer would pass the token of the caller on, which MCP forbids: the server could use it here; ' +
  'use jwt_header, or exchange tokens (oauth_grant_type: token_exchange)';

/** Paths start at the setting. */
export function identityForwardingFaults({
  method,
  header_name: name,
}: Partial<UserIdentityForwarding>): Fault[] {
  if (method === 'bearer') return faultAt('method', bearerReason);
  if (name === undefined || usualNames.has(name.toLowerCase())) return [];
  const fault = takenName.test(name.toLowerCase())
    ? 'is a header of the gateway'
    : headerNameFault(name, 'set');
  return faultAt('header_name', fault);
}
