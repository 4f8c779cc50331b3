/** Builds the header that tells an MCP server who calls: claims, signed by the gateway or in plain JSON. */
import { sign } from 'node:crypto';
import { decodeJwt } from 'jose';
import { deriveSigningPair, type SigningPair } from '../../auth/access-token.ts';
import {
  type ForwardedIdentity,
  identityHeaderNames,
} from '../../model/mcp/identity-forwarding.ts';
import type { Secret } from '../../secret.ts';
import { serverUnusable } from '../messages/plane-fault.ts';

export interface ForwardedIdentitiesOptions {
  /** 32 bytes; called once, when the first identity is signed. */
  readonly readSeed: () => Buffer;
  /** Address of the gateway, which signs under this name; null when it is not configured. */
  readonly publicUrl: string | null;
}

/** The caller of a request, and the server that it calls. */
export interface IdentityUse {
  readonly forwarding: ForwardedIdentity;
  readonly key: { readonly kind: string; readonly id: string; readonly personId: string | null };
  /** The verified token of the caller; null when it sent a key. */
  readonly callerToken: Secret | null;
  readonly server: {
    readonly organisationId: string;
    readonly workspaceId: string;
    readonly url: URL;
  };
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const expirySeconds = 300;

export class ForwardedIdentities {
  readonly #options: ForwardedIdentitiesOptions;
  #pair: SigningPair | null = null;

  constructor(options: ForwardedIdentitiesOptions) {
    this.#options = options;
  }

  /** The public key, as servers fetch it. */
  get keySet(): { readonly keys: readonly object[] } {
    const { publicKey, kid } = this.#signingPair();
    return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'EdDSA', use: 'sig' }] };
  }

  /** @throws PlaneFault when the gateway has no name to sign under */
  headerOf(use: IdentityUse): Record<string, string> {
    const { method, header_name: name } = use.forwarding;
    const claims = claimsOf(use);
    const value = method === 'jwt_header' ? this.#signed(claims, use) : asciiJson(claims);
    return { [(name ?? identityHeaderNames[method]).toLowerCase()]: value };
  }

  #signed(claims: Record<string, unknown>, { forwarding, server, now }: IdentityUse): string {
    const { publicUrl } = this.#options;
    if (publicUrl === null) {
      throw serverUnusable('its user_identity_forwarding needs GATEWRIGHT_MCP_URL');
    }
    const { privateKey, kid } = this.#signingPair();
    const iat = Math.floor(now / 1000);
    const exp = iat + (forwarding.jwt_expiry_seconds ?? expirySeconds);
    const payload = { ...claims, iss: publicUrl, aud: server.url.href, iat, exp };
    const parts = [{ alg: 'EdDSA', typ: 'JWT', kid }, payload];
    const text = parts
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
  }

  #signingPair(): SigningPair {
    this.#pair ??= deriveSigningPair(this.#options.readSeed());
    return this.#pair;
  }
}

/** Claims of the gateway, which no token of a caller replaces. */
function claimsOf({ forwarding, key, callerToken, server }: IdentityUse): Record<string, unknown> {
  const own = callerToken === null ? {} : decodeJwt(callerToken.reveal());
  const included = (forwarding.include_claims ?? [])
    .filter((name) => Object.hasOwn(own, name))
    .map((name) => [name, own[name]] as const);
  return {
    ...Object.fromEntries(included),
    sub: own.sub ?? key.personId ?? key.id,
    sub_type: own.sub === undefined ? subjectTypeOf(key) : 'token',
    organisation_id: server.organisationId,
    workspace_id: server.workspaceId,
  };
}

function subjectTypeOf({ personId }: IdentityUse['key']): string {
  return personId === null ? 'api_key' : 'user';
}

/** Headers hold visible ASCII only. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
