/** Determines the API of the host of a Git repository: form and addresses. */
import { Failure } from '../../failure.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isGitLocation, parseGitLocation } from '../source/git-location.ts';

type GitHostForm = 'github' | 'gitlab' | 'gitea';

export interface GitHost {
  readonly form: GitHostForm;
  /** URL prefix of the routes of the repository: `https://api.github.com/repos/acme/gateway`. */
  readonly repositoryUrl: string;
}

/** The settings that describe the host, for error messages. */
export interface GitHostSettings {
  readonly form: string;
  readonly apiUrl: string;
  /** Message for a location that is no repository at a host. */
  readonly refusal: string;
}

export interface GitHostTerms {
  readonly settings: GitHostSettings;
  /** Derived from the host name when undefined. */
  readonly form?: GitHostForm | undefined;
  /** Base URL of the API; derived from the host when undefined. */
  readonly apiUrl?: string | undefined;
  readonly trusted: TrustedHosts;
}

export const commitStatusHostSettings: GitHostSettings = {
  form: 'GATEWRIGHT_COMMIT_STATUS_FORM',
  apiUrl: 'GATEWRIGHT_COMMIT_STATUS_API_URL',
  refusal:
    'GATEWRIGHT_COMMIT_STATUS_TOKEN is set, but a commit status needs one source, a Git repository over https or ssh: name it, as in https://host/repo.git#COMMIT:folder, or unset it',
};

export const proposalHostSettings: GitHostSettings = {
  form: 'GATEWRIGHT_PROPOSALS_FORM',
  apiUrl: 'GATEWRIGHT_PROPOSALS_API_URL',
  refusal:
    'GATEWRIGHT_PROPOSALS_REPOSITORY must be a Git repository over https or ssh, as in https://host/team/gateway',
};

/** Hosts whose name does not show the form. */
const knownForms: Readonly<Record<string, GitHostForm>> = { 'codeberg.org': 'gitea' };
const labels: Readonly<Record<string, GitHostForm>> = {
  github: 'github',
  ghe: 'github',
  gitlab: 'gitlab',
  gitea: 'gitea',
  forgejo: 'gitea',
};

/** @throws Failure (invalid input) that names the setting to change */
export function gitHostOf(locations: readonly string[], terms: GitHostTerms): GitHost {
  const [location = ''] = locations;
  const isOne = locations.length === 1 && isGitLocation(location);
  const { url, protocol } = isOne ? parseGitLocation(location) : { url: '', protocol: 'file' };
  const { settings } = terms;
  if (protocol === 'file') throw refused(settings.refusal);
  const at = new URL(url);
  // The ssh port says nothing about the API.
  const host = protocol === 'https' ? at.host : at.hostname;
  const form = terms.form ?? formOf(at.hostname);
  if (form === undefined) {
    throw refused(
      `which API ${at.hostname} has is not clear from its name: set ${settings.form} to github, gitlab or gitea`,
    );
  }
  const api = terms.apiUrl === undefined ? usualApi(form, host) : named(terms.apiUrl, terms);
  return { form, repositoryUrl: `${api}${placeOf(form, repositoryOf(at, api), settings)}` };
}

function formOf(host: string): GitHostForm | undefined {
  const found = host.split('.').find((label) => Object.hasOwn(labels, label));
  return knownForms[host] ?? (found === undefined ? undefined : labels[found]);
}

function usualApi(form: GitHostForm, host: string): string {
  if (form === 'gitlab') return `https://${host}/api/v4`;
  if (form === 'gitea') return `https://${host}/api/v1`;
  const isCloud = host === 'github.com' || host.endsWith('.ghe.com');
  return isCloud ? `https://api.${host}` : `https://${host}/api/v3`;
}

/** A configured API may be on another host than the source, and receives the token. */
function named(apiUrl: string, { settings, trusted }: GitHostTerms): string {
  const fault = outboundUrlFault(apiUrl, trusted) ?? plainFault(apiUrl);
  if (fault !== null) throw refused(`${settings.apiUrl} ${fault}`);
  if (apiUrl.includes('?')) throw refused(`${settings.apiUrl} must not have a query`);
  return apiUrl.replace(/\/+$/, '');
}

/** Without TLS, secrets are sent only to private hosts that are listed as trusted. */
export function plainFault(url: string): string | null {
  const isPublic = outboundUrlFault(url, []) === null;
  return new URL(url).protocol === 'http:' && isPublic ? 'must begin with https' : null;
}

/** Returns the path segments without an installation prefix and `.git`. */
function repositoryOf({ pathname }: URL, api: string): string[] {
  const [prefix = ''] = new URL(api).pathname.split('/api/');
  const path =
    prefix !== '/' && pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  return path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function placeOf(
  form: GitHostForm,
  repository: readonly string[],
  settings: GitHostSettings,
): string {
  if (form === 'gitlab') return `/projects/${encodeURIComponent(repository.join('/'))}`;
  if (repository.length === 2) return `/repos/${repository.map(encodeURIComponent).join('/')}`;
  throw refused(
    `the source "${repository.join('/')}" is not OWNER/REPOSITORY on its host: set its API with ${settings.apiUrl}, or another form with ${settings.form}`,
  );
}

function refused(message: string): Failure {
  return new Failure('invalidInput', message);
}
