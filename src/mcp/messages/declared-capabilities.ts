/** Decides which questions of a server its client can be asked, by the capabilities that the client has declared. */
import { isObject } from '../../model/json/read-object.ts';

/** Capabilities that a client must have declared to be asked, by method. */
const capabilityOf: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
};

const askable = Object.values(capabilityOf);

/** Names of the askable capabilities that a client has declared, in one order. */
export function declaredIn(capabilities: unknown): string[] {
  return isObject(capabilities) ? askable.filter((name) => isObject(capabilities[name])) : [];
}

/** Null for a method that asks the client for nothing. */
export function requestedCapability(method: unknown): string | null {
  return typeof method === 'string' && Object.hasOwn(capabilityOf, method)
    ? capabilityOf[method]!
    : null;
}

/** Why a server may not ask. */
export function disabledText(capability: string): string {
  return `it asks for ${capability}, which disabled_client_capabilities exclude`;
}

/** Why a client cannot be asked. */
export function undeclaredText(capability: string): string {
  return `it asks for ${capability}, which the client has not declared`;
}
