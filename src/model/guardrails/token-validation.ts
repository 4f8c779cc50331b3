/** Defines how a token of a caller is verified, for the check `default.jwt` and for MCP servers. */
import { z } from 'zod';
import { plainHttpFault, type TrustedHosts } from '../../trusted-hosts.ts';
import { foreignCheckParameters } from '../services/foreign-fields.ts';
import { outboundUrlFault } from '../services/outbound-url.ts';
import { described } from '../wire/described.ts';
import { type Fault, faultAt } from '../wire/fault.ts';
import { acceptWithoutEffect } from '../wire/unknown-fields.ts';

/** Maximum key-set URLs, separated by commas. */
const jwksUrisMax = 10;

/** HMAC and `none` are excluded: with them, the public key would be the signing key. */
const asymmetric = ['RS', 'PS', 'ES'].flatMap((family) =>
  ['256', '384', '512'].map((size) => family + size),
);

/** Algorithms by which tokens may be signed. */
export const validationAlgorithms = [...asymmetric, 'EdDSA', 'Ed25519'];

export const matchTypes = z.enum(['exact', 'contains', 'containsAll', 'regex']);

const ClaimValues = z.record(
  z.string(),
  z.strictObject({
    values: described(z.unknown(), 'Accepted values of the claim.'),
    matchType: described(matchTypes.optional(), 'How the claim is compared.', {
      default: 'exact',
    }),
  }),
);

/** Members that say which tokens are valid; `headerKey` names the header that contains the token. */
export const tokenValidationShape = {
  jwksUri: described(
    z.string().min(1).optional(),
    'Addresses of key sets, separated by commas. This, jwks or introspectEndpoint is required.',
  ),
  jwks: described(
    z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
    'Key set as a document.',
  ),
  introspectEndpoint: described(
    z.string().min(1).optional(),
    'Address that says whether a token is active (RFC 7662).',
  ),
  cacheMaxAge: described(
    z.int().min(60).max(86_400).optional(),
    'Seconds for which fetched keys are used.',
    { default: 86_400 },
  ),
  clockTolerance: described(
    z.int().min(0).max(300).optional(),
    'Seconds by which clocks may differ.',
    { default: 5 },
  ),
  maxTokenAge: described(
    z
      .string()
      .regex(
        /^\d{1,6} ?(ms|s|sec|secs|m|min|mins|h|hr|hrs|d|day|days|w)$/,
        'must be like 30m or 1d',
      )
      .optional(),
    'Longest time since the token was issued.',
    { default: '1d' },
  ),
  algorithms: described(
    z.array(z.enum(validationAlgorithms)).min(1).optional(),
    'Accepted signature algorithms.',
    { default: ['RS256'] },
  ),
  requiredClaims: described(z.array(z.string()).optional(), 'Claims that a token must have.'),
  claimValues: described(ClaimValues.optional(), 'Values that claims must have, by claim.'),
};

/** `jwt_validation` of an MCP integration. */
export const TokenValidation = acceptWithoutEffect(
  z.looseObject({
    ...tokenValidationShape,
    headerKey: described(
      z.string().min(1).optional(),
      'Header of the caller that contains the token, with or without Bearer.',
      { default: 'Authorization' },
    ),
  }),
  foreignCheckParameters,
);

type Members = Readonly<Record<string, unknown>>;

/** Rules that the schema cannot express; paths start at the members. */
export function tokenValidationFaults(members: Members, trusted: TrustedHosts): Fault[] {
  const { jwks } = members;
  const { jwksUri, introspectEndpoint } = members as Partial<Record<string, string>>;
  if (jwksUri === undefined && jwks === undefined && introspectEndpoint === undefined) {
    return faultAt('jwksUri', 'is required');
  }
  const uris = jwksUri?.split(',', jwksUrisMax + 1) ?? [];
  if (uris.length > jwksUrisMax) {
    return faultAt('jwksUri', `must name at most ${jwksUrisMax} addresses`);
  }
  return [
    ...uris.flatMap((uri) => faultAt('jwksUri', keysAddressFault(uri.trim(), trusted))),
    ...(introspectEndpoint === undefined
      ? []
      : faultAt('introspectEndpoint', outboundUrlFault(introspectEndpoint, trusted))),
  ];
}

function keysAddressFault(uri: string, trusted: TrustedHosts): string | null {
  return outboundUrlFault(uri, trusted) ?? plainHttpFault(uri, trusted);
}
