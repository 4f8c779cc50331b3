/** Determines the commit status API of the host of a Git source: address and form. */
import { Failure } from '../../failure.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isGitLocation, parseGitLocation } from '../source/git-location.ts';

type GitHostForm = 'github' | 'gitlab' | 'gitea';

export interface GitHost {
  readonly form: GitHostForm;
  /** URL prefix of `/COMMIT`. */
  readonly statusesUrl: string;
}

export interface GitHostTerms {
  /** Derived from the host name when undefined. */
  readonly form?: GitHostForm | undefined;
  /** Base URL of the API; derived from the host when undefined. */
  readonly apiUrl?: string | undefined;
  readonly trusted: TrustedHosts;
}

const formSetting = 'GATEWRIGHT_COMMIT_STATUS_FORM';
const urlSetting = 'GATEWRIGHT_COMMIT_STATUS_API_URL';

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
  if (protocol === 'file') {
    throw refused(
      'GATEWRIGHT_COMMIT_STATUS_TOKEN is set, but a commit status needs one source, a Git repository over https or ssh: name it, as in https://host/repo.git#COMMIT:folder, or unset it',
    );
  }
  const at = new URL(url);
  // The ssh port says nothing about the API.
  const host = protocol === 'https' ? at.host : at.hostname;
  const form = terms.form ?? formOf(at.hostname);
  if (form === undefined) {
    throw refused(
      `which API ${at.hostname} has is not clear from its name: set ${formSetting} to github, gitlab or gitea`,
    );
  }
  const api =
    terms.apiUrl === undefined ? usualApi(form, host) : named(terms.apiUrl, terms.trusted);
  return { form, statusesUrl: `${api}${placeOf(form, repositoryOf(at, api))}` };
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
function named(apiUrl: string, trusted: TrustedHosts): string {
  const fault = outboundUrlFault(apiUrl, trusted) ?? plainFault(apiUrl);
  if (fault !== null) throw refused(`${urlSetting} ${fault}`);
  if (apiUrl.includes('?')) throw refused(`${urlSetting} must not have a query`);
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

function placeOf(form: GitHostForm, repository: readonly string[]): string {
  if (form === 'gitlab') return `/projects/${encodeURIComponent(repository.join('/'))}/statuses`;
  if (repository.length === 2) {
    return `/repos/${repository.map(encodeURIComponent).join('/')}/statuses`;
  }
  throw refused(
    `the source "${repository.join('/')}" is not OWNER/REPOSITORY on its host: set its API with ${urlSetting}, or another form with ${formSetting}`,
  );
}

function refused(message: string): Failure {
  return new Failure('invalidInput', message);
}
