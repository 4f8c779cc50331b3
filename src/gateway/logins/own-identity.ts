/** Defines the identity that the gateway itself has at clouds, and to which hosts its tokens may be sent. */
import { MachineIdentity } from '../../secret-managers/machine-identity.ts';
import { metadataDefault } from '../../secret-managers/secret-managers.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { OwnAwsCredentials } from './aws-subject.ts';
import { usesOwnIdentity } from './cloud-login.ts';
import type { ProviderLogin } from './provider-login.ts';

/** Identity of the gateway at Azure, which a cluster sets in its pods. */
export interface AzurePod {
  readonly authority: string;
  readonly tenantId: string;
  readonly clientId: string;
  /** Kubernetes renews its content. */
  readonly tokenFile: string;
}

/** The identity of the gateway itself. */
export interface OwnIdentity {
  /** Whether the operator lets integrations use it. */
  readonly isAllowed: boolean;
  readonly machine: MachineIdentity;
  /** Null outside of a cluster with workload identity. */
  readonly azurePod: AzurePod | null;
  readonly awsCredentials: OwnAwsCredentials;
}

interface OwnIdentityTerms {
  readonly mayBeItself: boolean;
  readonly azurePod: AzurePod | null;
}

export function ownIdentityOf(
  { mayBeItself, azurePod }: OwnIdentityTerms,
  awsCredentials: OwnAwsCredentials,
): OwnIdentity {
  const machine = new MachineIdentity(metadataDefault);
  return { isAllowed: mayBeItself, machine, azurePod, awsCredentials };
}

/** Domains of the services whose tokens a machine or a pod obtains. */
const serviceDomains = [
  '.googleapis.com',
  '.openai.azure.com',
  '.cognitiveservices.azure.com',
  '.services.ai.azure.com',
];

/**
 * The author of an integration chooses its address, and could collect tokens of the gateway there.
 *
 * @throws GatewayError `custom_host_refused` for a host outside of the service that the operator does not trust
 */
export function requireServiceHost(
  login: ProviderLogin,
  origin: string,
  trusted: TrustedHosts,
): void {
  if (!('kind' in login) || !usesOwnIdentity(login)) return;
  const { protocol, hostname } = new URL(origin);
  const isOfService = serviceDomains.some((domain) => hostname.endsWith(domain));
  if (protocol === 'https:' && isOfService) return;
  const host = hostname.replace(/^\[|\]$/g, '');
  if (trusted.some((entry) => entry.covers(host))) return;
  const message = `The gateway does not send its identity to ${host}, which TRUSTED_CUSTOM_HOSTS does not list`;
  throw new GatewayError('custom_host_refused', message, 'custom_host');
}
