/**
 * Decides whether stored secrets may stay: a member that decides where secrets are sent must not lead to a
 * place for which nobody has entered them.
 */
import type { Fault } from '../wire/fault.ts';

type Path = readonly (string | number)[];

/** A place to which secrets of a resource are sent. */
export interface SecretDestination {
  /** The member that decides it. */
  readonly path: Path;
  /** Whether requests or logins are sent there; one host may be meant for either alone. */
  readonly role: 'service' | 'login';
  /** Equal texts are the same place: an origin, or the source of an unknown address. */
  readonly place: string;
}

/** The first destination that did not exist before; undefined for none. */
export function findNewDestination(
  before: readonly SecretDestination[],
  after: readonly SecretDestination[],
): SecretDestination | undefined {
  return after.find(
    ({ role, place }) => !before.some((known) => known.role === role && known.place === place),
  );
}

/** Fault for a stored secret that would be sent to a new destination. */
export function retainedSecretFault(path: Path, moved: Pick<SecretDestination, 'path'>): Fault {
  const name = moved.path.join('.');
  return {
    path,
    message: `must be sent again with its value, because ${name} changes to another origin`,
  };
}

/** The origin of an address, or the address itself where it is no URL. */
export function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}
