/** Restricts which environment variables manifests may read. */
import { isKnownName } from './unknown.ts';

/** Variables with this prefix are readable for manifests. */
const manifestPrefix = 'GW_VAR_';

/** Credentials of Git, Git hosts and their CI runners. */
const gitCredential =
  /^(?:GIT|GITHUB|GITLAB|GH|GL|BITBUCKET|CI|SSH|ACTIONS)_\w*(?:TOKEN|PASS|PASSWORD|ASKPASS|SECRET|KEY|CREDENTIALS?|SOCK)\w*$/;

/** Why a variable must not be read, and the fix. */
export interface VariableRefusal {
  readonly message: string;
  readonly fix: string;
}

/**
 * Restricts `look` to names with the prefix GW_VAR_ and those listed in GATEWRIGHT_SYNC_VARIABLES
 * (`CRM_URL`, or `CRM_*` for a prefix). Settings of this program and credentials of Git are refused
 * even if listed.
 */
export function manifestVariables(
  look: (name: string) => string | undefined,
  listed: readonly string[],
): (name: string) => string | undefined | VariableRefusal {
  const permitted = [`${manifestPrefix}*`, ...listed];
  return (name) => {
    if (isKnownName(name) || gitCredential.test(name)) {
      const message = `manifests never read ${name}, which is a setting or credential of gatewright or Git`;
      return { message, fix: 'remove it: this variable can never be read' };
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
