/** Lists the checks of clients that this gateway cannot run, although it knows them, and why. */

/** By id, in the spelling of clients. */
export const refusedChecks: Readonly<Record<string, string>> = {
  'exa.online': 'adds results of a search to the prompt, and judges nothing',
  'patronus.retrievalHallucination': 'judges retrieved documents, which a request does not name',
  'portkey.dataservice': 'belongs to a service whose requests have no published format',
};
