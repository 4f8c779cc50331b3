/** Creates the client of the Git host that the settings name, and decides which sources belong to it. */
import type { ProposalSettings } from '../../settings/groups/proposals.ts';
import { gitHostOf, proposalHostSettings } from '../../sync/notify/git-host.ts';
import { isGitLocation, parseGitLocation } from '../../sync/source/git-location.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { ForgeApi } from './forge.ts';
import type { ForgeOutbound, ForgeTerms } from './forge-exchange.ts';
import { giteaApi } from './gitea.ts';
import { githubApi } from './github.ts';
import { gitlabApi } from './gitlab.ts';

const products = { github: githubApi, gitlab: gitlabApi, gitea: giteaApi } as const;

/** The configured Git host. */
export interface Forge {
  readonly api: ForgeApi;
  readonly form: keyof typeof products;
  /** Host of the repository, for people. */
  readonly host: string;
  /** Where a source is in the repository; null for a source elsewhere. */
  placeOf(source: string): RepositoryPlace | null;
}

export interface RepositoryPlace {
  /** Branch that sync follows; null for the default branch. */
  readonly base: string | null;
}

/**
 * Returns null without settings.
 *
 * @throws Failure (invalid input) that names the setting to change
 */
export function createForge(
  settings: ProposalSettings | undefined,
  terms: { readonly outbound: ForgeOutbound; readonly trusted: TrustedHosts },
): Forge | null {
  if (settings === undefined) return null;
  const { repository, token, form: wanted, apiUrl } = settings;
  const { trusted, outbound } = terms;
  const named = { settings: proposalHostSettings, form: wanted, apiUrl, trusted };
  const { form, repositoryUrl } = gitHostOf([repository], named);
  const exchange: ForgeTerms = { outbound, repositoryUrl, token };
  const own = identityOf(repository);
  return {
    form,
    api: products[form](exchange),
    host: new URL(parseGitLocation(repository).url).hostname,
    placeOf: (source) => {
      if (!isGitLocation(source) || identityOf(source) !== own) return null;
      return { base: parseGitLocation(source).ref };
    },
  };
}

/** Host and path, so that https and ssh addresses of one repository are equal. */
function identityOf(location: string): string {
  const { hostname, pathname } = new URL(parseGitLocation(location).url);
  const path = pathname.replace(/\/+$/, '').replace(/\.git$/, '');
  return `${hostname.toLowerCase()}${path}`;
}
