/** Changes members of a JSON body before it is sent. */
import { joinPieces, writeJsonPieces } from '../../model/json/json-bytes.ts';
import { locateMembers, piecesWith, withMembers } from '../../model/json/json-object.ts';
import { longLengthMin, type Slices } from '../../slices.ts';
import { GatewayError } from './gateway-error.ts';

/**
 * Returns the body with `changes`; undefined removes a member.
 *
 * @throws GatewayError for a body with duplicate members, or that is nested too deeply
 */
export function changedBody(body: Buffer, changes: ReadonlyMap<string, unknown>): Buffer {
  const members = requireMembers(body);
  try {
    return withMembers(body, members, changes);
  } catch (thrown) {
    throw depthFaultOf(thrown);
  }
}

/** {@link changedBody} that can be interrupted if the body is long. */
export function* changeBody(body: Buffer, changes: ReadonlyMap<string, unknown>): Slices<Buffer> {
  if (!isLong(body)) return changedBody(body, changes);
  yield;
  const letters = body.toString('latin1');
  yield;
  const members = requireMembers(body, letters);
  yield;
  const written = new Map<string, readonly Buffer[] | undefined>();
  try {
    for (const [name, value] of changes) {
      written.set(name, value === undefined ? undefined : yield* writeJsonPieces(value));
    }
  } catch (thrown) {
    throw depthFaultOf(thrown);
  }
  return yield* joinPieces(piecesWith(body, members, written));
}

/** Whether steps that read the whole body should have turns of their own. */
export function isLong(body: Buffer | null): body is Buffer {
  return body !== null && body.length >= longLengthMin;
}

function requireMembers(body: Buffer, letters?: string) {
  const members = locateMembers(body, letters);
  if (members !== null) return members;
  throw new GatewayError('invalid_json', 'The JSON body contains a duplicate member');
}

/** JSON.stringify has a depth limit, JSON.parse has none. */
function depthFaultOf(thrown: unknown): unknown {
  if (!(thrown instanceof RangeError)) return thrown;
  const message = 'The JSON body is nested too deeply';
  return new GatewayError('invalid_json', message, null, { cause: thrown });
}
