/** Declares the environment variables of changes that are proposed at a Git host. */
import * as forms from './forms.ts';
import { optional } from './variable.ts';

export const proposalVariables = {
  GATEWRIGHT_PROPOSALS_REPOSITORY: optional(
    'Sync',
    forms.line('an address of a Git repository', 'https://git.example.com/team/gateway', 2048),
    'Repository in which the console opens pull requests; without it, it offers patches to copy.',
  ),
  GATEWRIGHT_PROPOSALS_TOKEN: optional(
    'Sync',
    forms.headerToken,
    'Token that may write contents and open pull requests in that repository, and nothing else.',
    { secret: true },
  ),
  GATEWRIGHT_PROPOSALS_FORM: optional(
    'Sync',
    forms.gitHostForm,
    'API of its Git host. When unset: derived from the host name (github.com, gitlab.example.com, codeberg.org).',
  ),
  GATEWRIGHT_PROPOSALS_API_URL: optional(
    'Sync',
    forms.line('an address', 'https://git.example.com/api/v1', 2048),
    'Base address of that API. When unset: the default path at the host of the repository.',
  ),
};
