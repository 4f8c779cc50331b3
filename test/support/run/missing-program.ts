/** Reports programs that a test runs and the machine lacks, so that the test is skipped with the reason. */
import { spawnSync } from 'node:child_process';

/** Debian packages by the programs that tests run. */
const packages = {
  gpg: 'gpg gpg-agent',
  'ssh-keygen': 'openssh-client',
  'ssh-keyscan': 'openssh-client',
} as const;

export type OptionalProgram = keyof typeof packages;

/** Returns why a test that runs these programs is skipped; null when all exist. */
export function missingProgram(
  names: readonly OptionalProgram[],
  env: NodeJS.ProcessEnv = process.env,
): string | null {
  const name = names.find((one) => spawnSync(one, ['-?'], { stdio: 'ignore', env }).error);
  if (name === undefined) return null;
  return `${name} is not installed. On Debian: apt install ${packages[name]}`;
}

/** Adds the reason of a skip to a title. */
export function titleWithReason(title: string, reason: string | null): string {
  return reason === null ? title : `${title} (${reason})`;
}
