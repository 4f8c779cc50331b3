/** Knows how members of a JSON body are changed before it goes out. */
import { locateMembers, withMembers } from '../../model/json/json-object.ts';
import { GatewayError } from './gateway-error.ts';

/**
 * The bytes of an object with these members; undefined stands for one that goes.
 *
 * @throws GatewayError for a body that two could read in two ways, or that is nested too deeply
 */
export function changedBody(body: Buffer, changes: ReadonlyMap<string, unknown>): Buffer {
  const members = locateMembers(body);
  if (members === null) {
    throw new GatewayError('invalid_json', 'The JSON body has the same member twice');
  }
  try {
    return withMembers(body, members, changes);
  } catch (thrown) {
    // What is read without a bound cannot be written without one.
    if (!(thrown instanceof RangeError)) throw thrown;
    const message = 'The JSON body is nested too deeply';
    throw new GatewayError('invalid_json', message, null, { cause: thrown });
  }
}
