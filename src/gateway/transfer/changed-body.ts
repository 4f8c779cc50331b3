/** Changes members of a JSON body before it is sent. */
import { locateMembers, withMembers } from '../../model/json/json-object.ts';
import { GatewayError } from './gateway-error.ts';

/**
 * Returns the body with `changes`; undefined removes a member.
 *
 * @throws GatewayError for a body with duplicate members, or that is nested too deeply
 */
export function changedBody(body: Buffer, changes: ReadonlyMap<string, unknown>): Buffer {
  const members = locateMembers(body);
  if (members === null) {
    throw new GatewayError('invalid_json', 'The JSON body contains a duplicate member');
  }
  try {
    return withMembers(body, members, changes);
  } catch (thrown) {
    // JSON.stringify has a depth limit, JSON.parse has none.
    if (!(thrown instanceof RangeError)) throw thrown;
    const message = 'The JSON body is nested too deeply';
    throw new GatewayError('invalid_json', message, null, { cause: thrown });
  }
}
