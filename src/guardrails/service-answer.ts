/** Reads the JSON that a service has returned, within bounds, so that no answer holds the event loop. */
import { JsonScan } from '../model/json/json-scan.ts';
import { readJsonObject } from '../model/json/read-object.ts';
import { nextTurn } from '../slices.ts';
import { CheckError } from './check.ts';

/** Far more than any verdict has; a small text of more values takes longer to parse than a turn may. */
const bounds = { valuesMax: 100_000, depthMax: 100 };

/**
 * Null for anything but a JSON object. `name` is that of the service in messages.
 *
 * @throws CheckError for an object that is too large to be read at once
 */
export async function readServiceAnswer(
  body: Buffer,
  name: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  const scan = new JsonScan(body, bounds);
  for (;;) {
    const fault = scan.step();
    if (fault !== null) throw new CheckError(`${name} returned JSON that ${fault}`);
    if (scan.isDone) break;
    await nextTurn();
  }
  return readJsonObject(body.toString('utf8'));
}
