/** Gives the records of a gateway without a database to its control plane. */
import type { Definition } from '../model/mcp/definition.ts';
import type { GatewayRecords, SeenDefinitions } from '../store/records/gateway-records.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';
import { RecordAnswer, recordResults } from './record-messages.ts';

/** Text of the definitions of one message; a definition with more is not recorded. */
const definitionCharsMax = 1024 * 1024;

export function linkedRecords(link: Pick<ControlLink, 'post'>): GatewayRecords {
  const methodOf = <Method extends keyof GatewayRecords>(method: Method) =>
    (async (...given: unknown[]) => {
      const answer = await link.post(linkPaths.records, { method, arguments: given });
      return recordResults[method].parse(RecordAnswer.parse(answer).result);
    }) as unknown as GatewayRecords[Method];
  const storeSeenDefinitions = methodOf('storeSeenDefinitions');
  return {
    storeKeyUse: methodOf('storeKeyUse'),
    storeTokenWindows: methodOf('storeTokenWindows'),
    storeAnsweredState: methodOf('storeAnsweredState'),
    removeAnsweredState: methodOf('removeAnsweredState'),
    putNote: methodOf('putNote'),
    listNotes: methodOf('listNotes'),
    removeNotes: methodOf('removeNotes'),
    storeSeenDefinitions: async (seen) => {
      for (const part of partsOf(seen)) await storeSeenDefinitions(part);
    },
    findOrganisationOfTsg: methodOf('findOrganisationOfTsg'),
    storeCountedRow: methodOf('storeCountedRow'),
  };
}

function partsOf(seen: SeenDefinitions): SeenDefinitions[] {
  const parts: Definition[][] = [];
  let room = 0;
  for (const one of seen.definitions) {
    const chars = one.text.length;
    if (chars > definitionCharsMax) continue;
    if (chars > room || parts.length === 0) {
      parts.push([]);
      room = definitionCharsMax;
    }
    room -= chars;
    parts.at(-1)!.push(one);
  }
  return parts.map((definitions) => ({ ...seen, definitions }));
}
