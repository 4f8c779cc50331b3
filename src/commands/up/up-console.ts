/** Describes the console in the report of `up`: its address, and a link that signs the owner in. */
import type { AdminClient } from '../../sync/server/client.ts';
import { ApiRefusal } from '../../sync/server/refusal.ts';
import { createSignInLink } from '../../sync/server/sign-in-links.ts';
import type { CommandIo } from '../shared/command.ts';

export interface ConsoleReport {
  readonly url: string;
  /** Contains a code that signs in once; null where it would be stored, as in a log. */
  readonly signInUrl: string | null;
  /** The command that prints another link. */
  readonly command: string;
}

interface ConsoleContext {
  readonly adminUrl: string;
  readonly command: string;
  /** False where the report is not read at once: outputs other than terminals are often kept. */
  readonly createsLink: boolean;
  readonly signal: CommandIo['signal'];
  /** Called with the reason when there is no link. */
  readonly progress: (line: string) => void;
}

/** Creates a link only where it is shown and not kept. */
export async function reportConsole(
  client: AdminClient,
  { adminUrl, command, createsLink, signal, progress }: ConsoleContext,
): Promise<ConsoleReport> {
  const report = { url: `${adminUrl}/console`, signInUrl: null, command };
  if (!createsLink) return report;
  try {
    const link = await createSignInLink(client, null, signal);
    return { ...report, signInUrl: link?.url ?? null };
  } catch (error) {
    if (signal.aborted) return report;
    if (!(error instanceof ApiRefusal)) throw error;
    progress(`no link for signing in to the console: ${error.message}`);
    return report;
  }
}

/** Row of the report. */
export function consoleText({ url, signInUrl, command }: ConsoleReport): string {
  return signInUrl === null
    ? `${url} (sign in: ${command})`
    : `${signInUrl} (signs in once, within 5 minutes; later: ${command})`;
}
