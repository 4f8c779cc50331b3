/** Knows which variables manifests may read: those meant for them, never a setting or credential of our own. */
import { isKnownName } from './unknown.ts';

/** Whoever names a variable so wants manifests to read it. */
const manifestPrefix = 'GW_VAR_';

/** What Git, its hosts and their runners are given to sign in with. */
const gitCredential =
  /^(?:GIT|GITHUB|GITLAB|GH|GL|BITBUCKET|CI|SSH|ACTIONS)_\w*(?:TOKEN|PASS|PASSWORD|ASKPASS|SECRET|KEY|CREDENTIALS?|SOCK)\w*$/;

/** Why a variable is not read, and what to do. */
export interface VariableRefusal {
  readonly message: string;
  readonly fix: string;
}

/**
 * Restricts `look` to what manifests may read: names that begin with GW_VAR_, and those that
 * GATEWRIGHT_SYNC_VARIABLES lists (`CRM_URL`, or `CRM_*` for all that begin so). Settings of this
 * program and credentials of Git are refused even then.
 */
export function manifestVariables(
  look: (name: string) => string | undefined,
  listed: readonly string[],
): (name: string) => string | undefined | VariableRefusal {
  const permitted = [`${manifestPrefix}*`, ...listed];
  return (name) => {
    if (isKnownName(name) || gitCredential.test(name)) {
      const message = `manifests never read ${name}, which is a setting or credential of gatewright or Git`;
      return { message, fix: 'take it out: nothing makes it readable' };
    }
    if (permitted.some((entry) => covers(entry, name))) return look(name);
    const list = [...listed, name].join(',');
    return {
      message: `manifests may not read the environment variable ${name}`,
      fix: `call it ${manifestPrefix}${name}, or permit it with GATEWRIGHT_SYNC_VARIABLES=${list}`,
    };
  };
}

function covers(entry: string, name: string): boolean {
  return entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry;
}
