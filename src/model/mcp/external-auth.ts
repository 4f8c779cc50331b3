/** Defines where the users of an MCP server sign in, and what replaces the metadata of its authorization server. */
import { z } from 'zod';
import { plainHttpFault, type TrustedHosts } from '../../trusted-hosts.ts';
import {
  foreignExternalAuthFields,
  foreignOAuthMetadataFields,
} from '../services/foreign-fields.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';

const Address = z.string().min(1).max(2048);
const Names = z.array(z.string().min(1).max(255)).max(100);

/** The identity provider at which the callers of a server sign in, beside the key of the gateway. */
export const ExternalAuth = acceptWithoutEffect(
  z.looseObject({
    issuer: described(
      Address.optional(),
      'Issuer at which users sign in; clients find its endpoints by its metadata. Required.',
    ),
    scope: described(z.string().max(2048).optional(), 'Scope that clients request there.'),
    audience: described(
      Address.optional(),
      'Audience of its tokens; by default the address of the gateway, or of the server there.',
    ),
  }),
  foreignExternalAuthFields,
);
export type ExternalAuth = z.infer<typeof ExternalAuth>;

/** A provider that can be used. */
export interface UsableExternalAuth extends Pick<ExternalAuth, 'scope' | 'audience'> {
  readonly issuer: string;
}

/** Members that replace those in the metadata of the server's own authorization server. */
export const OAuthMetadata = acceptWithoutEffect(
  z.looseObject({
    authorization_endpoint: described(Address.optional(), 'Address at which users authorize.'),
    token_endpoint: described(Address.optional(), 'Address that issues tokens.'),
    registration_endpoint: described(
      Address.optional(),
      'Address at which the gateway registers as a client.',
    ),
    revocation_endpoint: described(Address.optional(), 'Address that revokes tokens.'),
    scopes_supported: described(Names.clone().optional(), 'Scopes that exist.'),
    code_challenge_methods_supported: described(
      Names.clone().optional(),
      'Methods of PKCE; S256 must be one of them.',
    ),
    token_endpoint_auth_methods_supported: described(
      Names.clone().optional(),
      'Ways in which clients authenticate at the token endpoint.',
    ),
  }),
  foreignOAuthMetadataFields,
);
export type OAuthMetadata = z.infer<typeof OAuthMetadata>;

/** Paths start at the setting. */
export function externalAuthFaults(auth: ExternalAuth, trusted: TrustedHosts): Fault[] {
  if (auth.issuer === undefined) {
    return faultAt(
      'issuer',
      'is required: clients find its endpoints by the metadata of the issuer',
    );
  }
  return faultAt('issuer', addressFault(auth.issuer, trusted));
}

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
] as const;

/** Paths start at the setting. */
export function oauthMetadataFaults(metadata: OAuthMetadata, trusted: TrustedHosts): Fault[] {
  return endpoints.flatMap((name) => {
    const address = metadata[name];
    return faultAt(name, address === undefined ? null : addressFault(address, trusted));
  });
}

/** Codes and tokens pass no network in plain text. */
function addressFault(address: string, trusted: TrustedHosts): string | null {
  return outboundUrlFault(address, trusted) ?? plainHttpFault(address, trusted);
}
