/** Knows at which address, and in which form, the host of a Git source takes the status of a commit. */
import { Failure } from '../../failure.ts';
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { isGitLocation, parseGitLocation } from '../source/git-location.ts';

type GitHostForm = 'github' | 'gitlab' | 'gitea';

export interface GitHost {
  readonly form: GitHostForm;
  /** To which `/COMMIT` is added. */
  readonly statusesUrl: string;
}

export interface GitHostTerms {
  /** Undefined: as the name of the host says. */
  readonly form?: GitHostForm | undefined;
  /** Where the API begins; undefined: at the usual place of the host. */
  readonly apiUrl?: string | undefined;
  readonly trusted: TrustedHosts;
}

const formSetting = 'GATEWRIGHT_COMMIT_STATUS_FORM';
const urlSetting = 'GATEWRIGHT_COMMIT_STATUS_API_URL';

/** Hosts whose names do not say it. */
const knownForms: Readonly<Record<string, GitHostForm>> = { 'codeberg.org': 'gitea' };
const labels: Readonly<Record<string, GitHostForm>> = {
  github: 'github',
  ghe: 'github',
  gitlab: 'gitlab',
  gitea: 'gitea',
  forgejo: 'gitea',
};

/** @throws Failure (invalid input) naming the setting that helps */
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
  // The port of ssh says nothing about the API.
  const host = protocol === 'https' ? at.host : at.hostname;
  const form = terms.form ?? formOf(at.hostname);
  if (form === undefined) {
    throw refused(
      `which API ${at.hostname} has cannot be told from its name: set ${formSetting} to github, gitlab or gitea`,
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

/** What is named goes elsewhere than the source, and takes a token along. */
function named(apiUrl: string, trusted: TrustedHosts): string {
  const fault = outboundUrlFault(apiUrl, trusted) ?? plainFault(apiUrl);
  if (fault !== null) throw refused(`${urlSetting} ${fault}`);
  if (apiUrl.includes('?')) throw refused(`${urlSetting} must not have a query`);
  return apiUrl.replace(/\/+$/, '');
}

/** Without TLS a secret goes to private hosts only, which are trusted by name. */
export function plainFault(url: string): string | null {
  const isPublic = outboundUrlFault(url, []) === null;
  return new URL(url).protocol === 'http:' && isPublic ? 'must begin with https' : null;
}

/** Segments of the path, without that of an installation below one, and without `.git`. */
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
    `the source "${repository.join('/')}" is no OWNER/REPOSITORY at the host: name its API with ${urlSetting}, or another form with ${formSetting}`,
  );
}

function refused(message: string): Failure {
  return new Failure('invalidInput', message);
}
